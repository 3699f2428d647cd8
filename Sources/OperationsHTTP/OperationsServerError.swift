import Foundation
import NIOCore

/// An HTTP server of receiptd could not listen.
public struct OperationsServerError: Error, CustomStringConvertible {
    public let host: String
    public let port: Int
    /// The system's `errno`, such as `EADDRINUSE`, `EACCES` or `EADDRNOTAVAIL`; nil if the system gave none.
    public let code: Int32?
    private let cause: String

    /// False, because an operator first has to change the port, the host or a permission.
    public var isRetriable: Bool { false }

    init(host: String, port: Int, cause: any Error) {
        self.host = host
        self.port = port
        code = (cause as? IOError)?.errnoCode
        self.cause = "\(cause)"
    }

    /// True if another process listens on the port.
    public var isPortTaken: Bool { code == EADDRINUSE }

    public var description: String {
        isPortTaken
            ? "cannot listen on \(host):\(port): port \(port) of \(host) is taken by another process"
            : "cannot listen on \(host):\(port): \(cause)"
    }
}
