"""This broker in its cluster: lease and registration, the image, the controller, who leads what is new."""
