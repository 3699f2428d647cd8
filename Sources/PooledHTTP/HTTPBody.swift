import NIOCore

/// A request's body, which writes itself straight into the buffer that is sent.
public protocol HTTPBody {
    /// The number of bytes that `write` writes.
    var count: Int { get }
    func write(to buffer: inout ByteBuffer)
}
