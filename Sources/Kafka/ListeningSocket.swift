import Foundation

/// A socket of this process that listens on a port of this machine.
struct ListeningSocket {
    let descriptor: Int32

    /// Returns all sockets that listen on one of these ports.
    static func all(on ports: Set<UInt16>) -> [ListeningSocket] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap(Int32.init).filter { port(of: $0).map(ports.contains) ?? false }.map(Self.init)
    }

    /// Ends the listening in every process that holds the socket. The descriptor stays open as something else, which
    /// never becomes readable, for an owner that polls it and closes it.
    ///
    /// A program that is being started holds a copy of each descriptor until it runs. So closing the socket here frees
    /// its port a moment later only.
    func end() {
        let socket = dup(descriptor)
        let nothing = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        dup2(nothing, descriptor)
        close(nothing)
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    /// Returns the port of a listening socket; nil for another descriptor.
    private static func port(of descriptor: Int32) -> UInt16? {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens != 0 else { return nil }
        var address = sockaddr_in()
        size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return code == 0 && address.sin_family == AF_INET ? UInt16(bigEndian: address.sin_port) : nil
    }
}
