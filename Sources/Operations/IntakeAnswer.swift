/// The result of a notification that was posted to us.
public enum IntakeAnswer: Sendable, Equatable {
    /// It is on its topic.
    case taken
    /// It is none, or not for us. Apple need not send it again.
    case refused(String)
    /// Apple is to send it again.
    case unavailable(String)
}
