/// A secret value. Printing, interpolating or dumping a `Secret` does not show the value.
package struct Secret: Sendable, Equatable {
    package let value: String

    package init(_ value: String) {
        self.value = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
