import Fulfillment

/// The classes of traffic as people see them, in the order of a chart from bottom to top. The worker's page and the
/// console use the same names and colours.
package enum ShownClass: String, CaseIterable, Sendable {
    case genuine, repeated, unverifiable, other, junk, foreign

    package var style: String { self == .repeated ? "c-repeat" : "c-\(rawValue)" }

    /// The classes of traffic that this class combines. `count` adds the dead letters to junk.
    package var counted: [TrafficClass] {
        switch self {
        case .genuine: [.genuine]
        case .repeated: [.repeated]
        case .unverifiable: [.unverifiable]
        case .other: [.other]
        case .junk: [.junk, .forged]
        case .foreign: [.foreign]
        }
    }

    package var meaning: String {
        switch self {
        case .genuine: "granted or held"
        case .repeated: "the purchase was granted before, or belongs to another player"
        case .unverifiable: "Apple did not confirm the proof"
        case .other: "a genuine proof that holds nothing to grant, or that a rule refused"
        case .junk: "no receipt, a false signature, an unknown app, dead letters"
        case .foreign: "a receipt of another app"
        }
    }

    /// Returns the number of records in this class.
    /// - Parameters:
    ///   - answered: returns the number of submissions in a class of traffic.
    ///   - deadLetters: the number of all dead letters.
    ///   - answeredLetters: the number of dead letters whose sender got an event. `answered` counts them as junk
    ///     already.
    package func count(_ answered: (TrafficClass) -> Int, deadLetters: Int, answeredLetters: Int) -> Int {
        counted.reduce(self == .junk ? max(0, deadLetters - answeredLetters) : 0) { $0 + answered($1) }
    }
}
