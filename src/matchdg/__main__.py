"""`python -m matchdg`."""

from matchdg.cli import main

if __name__ == "__main__":
    main()
