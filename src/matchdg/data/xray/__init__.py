"""Chest X-rays: what the three collections list, where their files are, which are used, and how DICOM is read."""
