import NIOCore

/// A request's body, written straight to where it is sent from.
public protocol HTTPBody {
    /// Bytes that `write` writes.
    var count: Int { get }
    func write(to buffer: inout ByteBuffer)
}
