// Nearly every file here reads a clock.
@_exported import Clocks
