import NIOCore
import PooledHTTP

/// The JSON body of a verifyReceipt request. It writes itself into the request's buffer without a JSON encoder, because
/// a receipt is the largest data that the worker copies.
struct VerifyReceiptBody: HTTPBody {
    private static let start: StaticString = "{\"receipt-data\":\""
    private static let passwordStart: StaticString = "\",\"password\":\""
    private static let end: StaticString = "\",\"exclude-old-transactions\":false}"

    private let receipt: String
    private let password: String?
    private let escapes: (receipt: Int, password: Int)

    init(receipt: String, password: String?) {
        self.receipt = receipt
        self.password = password
        escapes = (Self.escapedBytes(receipt), password.map(Self.escapedBytes) ?? 0)
    }

    /// The number of bytes that `write` writes.
    var count: Int {
        let secret = password.map { Self.passwordStart.utf8CodeUnitCount + $0.utf8.count + escapes.password } ?? 0
        return Self.start.utf8CodeUnitCount + receipt.utf8.count + escapes.receipt + secret
            + Self.end.utf8CodeUnitCount
    }

    func write(to buffer: inout ByteBuffer) {
        buffer.writeStaticString(Self.start)
        Self.write(receipt, isPlain: escapes.receipt == 0, to: &buffer)
        if let password {
            buffer.writeStaticString(Self.passwordStart)
            Self.write(password, isPlain: escapes.password == 0, to: &buffer)
        }
        buffer.writeStaticString(Self.end)
    }

    /// Returns the number of bytes that escapes add. Base64 and Apple's secrets need no escapes.
    private static func escapedBytes(_ text: String) -> Int {
        guard text.utf8.withContiguousStorageIfAvailable(mustEscape) ?? true else { return 0 }
        return text.utf8.reduce(0) { $0 + ($1 == 0x22 || $1 == 0x5C ? 1 : $1 < 0x20 ? 5 : 0) }
    }

    /// Returns whether a byte needs an escape. The loop has no early exit, so that the CPU checks many bytes in one
    /// step.
    private static func mustEscape(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for byte in bytes { found |= (byte < 0x20 ? 1 : 0) | (byte == 0x22 ? 1 : 0) | (byte == 0x5C ? 1 : 0) }
        return found != 0
    }

    private static func write(_ text: String, isPlain: Bool, to buffer: inout ByteBuffer) {
        if isPlain {
            buffer.writeString(text)
            return
        }
        for byte in text.utf8 {
            switch byte {
            case 0x22, 0x5C:
                buffer.writeInteger(UInt8(0x5C))
                buffer.writeInteger(byte)
            case 0..<0x20:
                buffer.writeStaticString("\\u00")
                for nibble in [byte >> 4, byte & 0xF] {
                    buffer.writeInteger(nibble < 10 ? 0x30 + nibble : 0x57 + nibble)
                }
            default: buffer.writeInteger(byte)
            }
        }
    }
}
