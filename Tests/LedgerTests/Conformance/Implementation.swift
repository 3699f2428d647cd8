/// Which implementation of a protocol a conformance suite runs on.
enum Implementation: String, CaseIterable, Sendable {
    case inMemory
    case postgres
}
