import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Channel {
    /// Closes the connection with RST instead of FIN. With a linger time of 0, the kernel throws unsent bytes away.
    func resetConnection() {
        guard let socket = self as? any SocketOptionProvider else {
            close(promise: nil)
            return
        }
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in self.close(promise: nil) }
    }
}
