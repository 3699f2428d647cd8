/// The answer to a notification that Apple or anybody else posted.
public enum IntakeAnswer: Sendable, Equatable {
    /// The notification is on its topic.
    case taken
    /// The body is no notification, or is not for us. Apple need not send the notification again.
    case refused(String)
    /// The notification could not be taken now. Apple has to send it again.
    case unavailable(String)
}
