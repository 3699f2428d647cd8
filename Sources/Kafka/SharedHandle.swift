import Dispatch
import Synchronization

/// Lets threads use a client while another thread may close it. No use begins after `retire`, and `retire` returns when
/// the last use has ended.
final class SharedHandle: Sendable {
    private let handle: ClientHandle
    private let isOpen = Mutex(true)
    private let uses = DispatchGroup()

    init(_ handle: ClientHandle) { self.handle = handle }

    func use<Value>(_ body: (ClientHandle) throws(KafkaError) -> Value) throws(KafkaError) -> Value {
        // The lock keeps `retire` from running between the check and `enter`.
        let isEntered = isOpen.withLock { isOpen in
            if isOpen { uses.enter() }
            return isOpen
        }
        guard isEntered else { throw .closed }
        defer { uses.leave() }
        return try body(handle)
    }

    /// Waits until all uses have ended. Returns the handle to the first caller, who must destroy it, and nil to later
    /// callers.
    func retire() -> ClientHandle? {
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard isFirst else { return nil }
        uses.wait()
        return handle
    }
}
