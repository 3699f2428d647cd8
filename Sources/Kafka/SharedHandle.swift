import Dispatch
import Synchronization

/// Lets any number of threads use a client while one of them may close it: no use begins after `retire`, and `retire`
/// returns when the last has ended.
final class SharedHandle: Sendable {
    private let handle: ClientHandle
    private let isOpen = Mutex(true)
    private let uses = DispatchGroup()

    init(_ handle: ClientHandle) { self.handle = handle }

    func use<Value>(_ body: (ClientHandle) throws(KafkaError) -> Value) throws(KafkaError) -> Value {
        // The lock keeps `retire` from coming between the check and the entry.
        let isEntered = isOpen.withLock { isOpen in
            if isOpen { uses.enter() }
            return isOpen
        }
        guard isEntered else { throw .closed }
        defer { uses.leave() }
        return try body(handle)
    }

    /// Returns the handle to the first caller, who has to destroy it, and nil to others. Waits for all uses to end.
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
