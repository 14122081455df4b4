a = f"{x!r:>{w}}{y=}{{}}{f'{z}'}" rf'\n{a:%H}' '\N{DASH}\x41\u00e9\
' """t
"q" """ + str(b'\0' B"x") + u's' * 1j
