/// The implementation of a protocol that a conformance suite runs on.
enum Implementation: String, CaseIterable, Sendable {
    case inMemory
    case postgres
}
