"""Results for the eye: figures and pages."""
