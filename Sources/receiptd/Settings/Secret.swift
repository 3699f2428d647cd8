/// A setting whose value is shown nowhere: not printed, not interpolated, not dumped.
struct Secret: Sendable, Equatable {
    let value: String

    init(_ value: String) {
        self.value = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "(secret)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
