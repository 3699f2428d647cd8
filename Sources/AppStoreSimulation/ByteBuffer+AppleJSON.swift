import NIOCore
import NamesAndTimes

/// Writes Apple's JSON straight into the network buffer. The caller passes a key with its quotes and its colon. Each
/// field ends with a comma.
extension ByteBuffer {
    /// Writes `"key":"text",`.
    mutating func writeField(_ key: StaticString, _ text: String) {
        writeStaticString(key)
        writeQuoted(text)
        writeInteger(UInt8(ascii: ","))
    }

    /// Writes `"key":"number",`. Apple quotes every number of a purchase.
    mutating func writeField(_ key: StaticString, quoting number: Int64) {
        writeStaticString(key)
        writeStaticString("\"")
        writeDecimal(number)
        writeStaticString("\",")
    }

    /// Writes `"key":number,`.
    mutating func writeField(_ key: StaticString, number: Int64) {
        writeStaticString(key)
        writeDecimal(number)
        writeInteger(UInt8(ascii: ","))
    }

    /// Writes a date in Apple's three forms: `"key":"… Etc/GMT","key_ms":"…","key_pst":"… America/Los_Angeles",`.
    mutating func writeDates(_ key: StaticString, milliseconds: Int64) {
        let time = Timestamp(milliseconds: milliseconds / 1000 * 1000)
        writeInteger(UInt8(ascii: "\""))
        writeStaticString(key)
        writeStaticString("\":\"")
        writeCivil(time)
        writeStaticString(" Etc/GMT\",\"")
        writeStaticString(key)
        writeStaticString("_ms\":\"")
        writeDecimal(milliseconds)
        writeStaticString("\",\"")
        writeStaticString(key)
        writeStaticString("_pst\":\"")
        writeCivil(PacificTime.local(time))
        writeStaticString(" America/Los_Angeles\",")
    }

    /// Writes a time as `2023-06-28 00:55:52`.
    mutating func writeCivil(_ time: Timestamp) {
        let time = CivilTime(time)
        writeWithUnsafeMutableBytes(minimumWritableBytes: CivilTime.length) {
            time.write(to: $0, separator: UInt8(ascii: " "))
            return CivilTime.length
        }
    }

    mutating func writeDecimal(_ number: Int64) {
        guard number >= 0 else {
            writeString(String(number))
            return
        }
        // An Int64 has at most 19 digits.
        writeWithUnsafeMutableBytes(minimumWritableBytes: 20) { output in
            var digits = 1
            var rest = number
            while rest >= 10 {
                rest /= 10
                digits += 1
            }
            rest = number
            for index in stride(from: digits - 1, through: 0, by: -1) {
                output[index] = UInt8(48 + rest % 10)
                rest /= 10
            }
            return digits
        }
    }

    /// Writes a JSON string, and escapes only the characters that JSON demands.
    mutating func writeQuoted(_ text: String) {
        writeInteger(UInt8(ascii: "\""))
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            writeString(text)
        } else {
            for byte in text.utf8 { writeEscaped(byte) }
        }
        writeInteger(UInt8(ascii: "\""))
    }

    private mutating func writeEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            writeInteger(UInt8(ascii: "\\"))
            writeInteger(byte)
        case 0x00..<0x20:
            writeString("\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16))
        default:
            writeInteger(byte)
        }
    }

    /// Removes the comma at the end of the buffer, if there is one.
    mutating func dropComma() {
        if let last = getInteger(at: writerIndex - 1, as: UInt8.self), last == UInt8(ascii: ",") {
            moveWriterIndex(to: writerIndex - 1)
        }
    }
}
