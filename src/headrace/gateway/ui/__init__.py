"""The admin UI: NiceGUI pages on the gateway's own FastAPI application.

It works without any network but the gateway's: scripts, fonts and styles come from the wheels. Whatever a record, a group or
a topic is called is hostile text here and reaches the browser as text only: no page builds HTML from values.
"""
