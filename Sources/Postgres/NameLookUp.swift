import Foundation
import Synchronization

/// Looks up a server's name on a thread of its own, because `getaddrinfo` has no deadline. If the name server is
/// silent, `getaddrinfo` blocks for as long as `/etc/resolv.conf` allows, half a minute or more. A program could not
/// stop during that time.
final class NameLookUp: Sendable {
    enum Outcome: Sendable {
        /// The addresses as numbers, in the resolver's order.
        case addresses([String])
        /// The resolver's error text.
        case failed(String)
    }

    /// The time for which a finished look-up may be used, if no session waited for it.
    private static let freshness = Duration.seconds(10)

    /// The look-ups by name, until a session has taken the outcome. However many sessions look up a name, one thread
    /// waits for the name server. If an outcome arrives after a session's deadline, the next session takes it.
    private static let underWay = Mutex<[String: NameLookUp]>([:])

    private let ended = Interrupt()
    private let ending = Mutex<(outcome: Outcome, at: ContinuousClock.Instant)?>(nil)

    private var isStale: Bool { ending.withLock { $0.map { ContinuousClock.now - $0.at > Self.freshness } ?? false } }

    /// Blocks until there is an outcome. Returns nil at the deadline, or once `interrupt` is set.
    static func run(_ host: String, until deadline: ContinuousClock.Instant, interrupt: Interrupt) -> Outcome? {
        let lookUp = underWay.withLock { all in
            if let known = all[host], !known.isStale { return known }
            let new = NameLookUp()
            all[host] = new
            new.start(host)
            return new
        }
        guard Connection.pollSocket(lookUp.ended.descriptor, POLLIN, interrupt, until: deadline) == .ready,
            let outcome = lookUp.ending.withLock({ $0?.outcome })
        else { return nil }
        underWay.withLock { all in if all[host] === lookUp { all[host] = nil } }
        return outcome
    }

    private func start(_ host: String) {
        // Without a descriptor no session could wait for another thread. So this thread looks the name up.
        guard ended.descriptor >= 0 else { return end(Self.lookUp(host)) }
        let thread = Thread { [self] in end(Self.lookUp(host)) }
        thread.name = "postgres-name"
        thread.start()
    }

    private func end(_ found: Outcome) {
        ending.withLock { $0 = (found, .now) }
        ended.set()
    }

    static func lookUp(_ host: String, flags: Int32 = 0) -> Outcome {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &found)
        guard code == 0 else { return .failed(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(found) }
        var addresses: [String] = []
        var next = found
        while let one = next?.pointee {
            next = one.ai_next
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(one.ai_addr, one.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return .addresses(addresses)
    }
}
