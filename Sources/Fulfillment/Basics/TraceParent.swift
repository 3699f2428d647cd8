/// The header `traceparent` of W3C's Trace Context (https://www.w3.org/TR/trace-context/#traceparent-header).
public enum TraceParent {
    /// The length of a value in bytes: `00-`, 32 digits of the trace id, `-`, 16 digits of the parent id, `-`, 2 digits
    /// of flags.
    private static let bytes = 55
    /// The most bytes of a value. A later version's value may have more parts after another dash.
    public static let maximumBytes = 256

    /// Returns whether receiptd may pass the value on. The value must have lower-case hex digits in their places.
    /// Neither the trace id nor the parent id may be all zeros. A value of a later version must begin in this form too.
    /// `ff` is not a version.
    public static func isSound(_ value: [UInt8]) -> Bool {
        guard value.count >= bytes, value.count <= maximumBytes, isHex(value[0..<2]), isHex(value[3..<35]),
            isHex(value[36..<52]), isHex(value[53..<55]),
            [2, 35, 52].allSatisfy({ value[$0] == UInt8(ascii: "-") })
        else { return false }
        let zero = UInt8(ascii: "0")
        guard value[3..<35].contains(where: { $0 != zero }), value[36..<52].contains(where: { $0 != zero }) else {
            return false
        }
        switch (value[0], value[1]) {
        case (zero, zero): return value.count == bytes
        case (UInt8(ascii: "f"), UInt8(ascii: "f")): return false
        default:
            return value.count == bytes
                || (value[bytes] == UInt8(ascii: "-") && value[bytes...].allSatisfy { (0x21..<0x7F).contains($0) })
        }
    }

    /// Returns the id of the whole trace, 32 digits; nil if the value is not sound.
    public static func traceID(of value: String) -> String? {
        let bytes = Array(value.utf8)
        return isSound(bytes) ? String(decoding: bytes[3..<35], as: UTF8.self) : nil
    }

    private static func isHex(_ digits: ArraySlice<UInt8>) -> Bool {
        digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
