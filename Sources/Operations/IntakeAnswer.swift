/// The answer to a notification that Apple or anybody else posted.
public enum IntakeAnswer: Sendable, Equatable {
    /// The notification is on its topic.
    case taken
    /// The body is no notification, or not for us. Apple need not send it again.
    case refused(String)
    /// Apple is to send it again.
    case unavailable(String)
}
