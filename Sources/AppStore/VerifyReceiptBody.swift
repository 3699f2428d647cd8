import NIOCore

/// The request's JSON, written by hand: a receipt is the largest thing this process copies.
enum VerifyReceiptBody {
    static func make(receipt: String, password: String?, allocator: ByteBufferAllocator) -> ByteBuffer {
        let overhead = 80
        var body = allocator.buffer(capacity: receipt.utf8.count + (password?.utf8.count ?? 0) + overhead)
        body.writeStaticString("{\"receipt-data\":\"")
        writeEscaped(receipt, to: &body)
        if let password {
            body.writeStaticString("\",\"password\":\"")
            writeEscaped(password, to: &body)
        }
        body.writeStaticString("\",\"exclude-old-transactions\":false}")
        return body
    }

    /// Without an early exit, so that many bytes are looked at in one step.
    private static func mustEscape(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for byte in bytes { found |= (byte < 0x20 ? 1 : 0) | (byte == 0x22 ? 1 : 0) | (byte == 0x5C ? 1 : 0) }
        return found != 0
    }

    /// Base64 and Apple's secrets need no escape, and are copied as they stand.
    private static func writeEscaped(_ text: String, to body: inout ByteBuffer) {
        guard text.utf8.withContiguousStorageIfAvailable(mustEscape) ?? true else {
            body.writeString(text)
            return
        }
        for byte in text.utf8 {
            switch byte {
            case 0x22, 0x5C:
                body.writeInteger(UInt8(0x5C))
                body.writeInteger(byte)
            case 0..<0x20:
                body.writeStaticString("\\u00")
                for nibble in [byte >> 4, byte & 0xF] { body.writeInteger(nibble < 10 ? 0x30 + nibble : 0x57 + nibble) }
            default: body.writeInteger(byte)
            }
        }
    }
}
