"""What every room needs: errors that help, names that are looked up kindly, settings, files that are whole."""
