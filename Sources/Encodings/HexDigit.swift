/// Hexadecimal digits, in either case.
public enum HexDigit {
    /// Returns the value of a hex digit, 0 to 15; nil if `character` is not a hex digit.
    @inlinable
    public static func value(of character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x41...0x46: character - 0x37
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }
}
