"""What `deploy_lint` says of a file that is wrong."""


class Refused(Exception):
    """The library's own words."""
