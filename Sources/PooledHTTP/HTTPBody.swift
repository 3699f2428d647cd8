import NIOCore

/// A request's body, which writes itself into the request's buffer.
public protocol HTTPBody {
    /// The number of bytes that `write` writes.
    var count: Int { get }
    func write(to buffer: inout ByteBuffer)
}
