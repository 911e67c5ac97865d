"""One member of a consumer group in a process of its own, whatever the library: so it can leave, and it can be killed.

`member.Member` is the test's side. `__main__` is the program for the Python libraries, one file adapts each; the Java
and the Go program beside this folder speak the same lines.
"""
