import CZlib

/// Unpacks gzip files (RFC 1952) with the system's zlib, which checks length and checksum.
enum Gzip {
    struct Fault: Error, Equatable {
        let message: String
    }

    static func isGzip(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    private static let magic: [UInt8] = [0x1F, 0x8B]

    /// The most bytes that one call of zlib unpacks.
    private static let chunk = 65_536

    /// Returns the unpacked bytes.
    /// - Parameter limit: the most unpacked bytes. If the file has more, the function throws soon after this number.
    static func unpack(_ packed: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
        var input = packed
        var position = 0
        var unpacked: [UInt8] = []
        // A gzip file may have several members, one after the other.
        repeat {
            try unpackMember(&input, from: &position, limit: limit, into: &unpacked)
        } while input.dropFirst(position).starts(with: magic)
        guard input.dropFirst(position).allSatisfy({ $0 == 0 }) else {
            throw Fault(message: "has more data after the end of its gzip data")
        }
        return unpacked
    }

    private static func unpackMember(
        _ input: inout [UInt8], from position: inout Int, limit: Int, into unpacked: inout [UInt8]
    ) throws(Fault) {
        // zlib remembers the address of its stream, so the stream must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard inflate_init_gzip(stream) == Z_OK else { throw Fault(message: "cannot be unpacked: zlib does not start") }
        defer { inflateEnd(stream) }
        var output = [UInt8](repeating: 0, count: chunk)
        while true {
            let before = position
            let (code, made) = step(stream, &input, from: &position, &output)
            unpacked.append(contentsOf: output[..<made])
            guard unpacked.count <= limit else { throw Fault(message: "holds more than \(limit) bytes") }
            switch code {
            case Z_STREAM_END: return
            case Z_OK where made > 0 || position > before: continue
            case Z_OK, Z_BUF_ERROR: throw Fault(message: "is cut off: the end of its gzip data is missing")
            default: throw Fault(message: "is not a valid gzip file")
            }
        }
    }

    /// Calls zlib once. Returns its code, and the number of bytes that it unpacked. zlib uses the buffers only during
    /// this call.
    private static func step(
        _ stream: UnsafeMutablePointer<z_stream>, _ input: inout [UInt8], from position: inout Int,
        _ output: inout [UInt8]
    ) -> (code: Int32, made: Int) {
        let begin = position
        let code = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress?.advanced(by: begin)
                stream.pointee.avail_in = UInt32(clamping: input.count - begin)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(clamping: output.count)
                return inflate(stream, Z_NO_FLUSH)
            }
        }
        position = input.count - Int(stream.pointee.avail_in)
        return (code, output.count - Int(stream.pointee.avail_out))
    }
}
