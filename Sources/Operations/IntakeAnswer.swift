/// The intake's answer to a posted notification.
public enum IntakeAnswer: Sendable, Equatable {
    /// Kafka has acknowledged the notification.
    case taken
    /// The body is no notification, or is for another app. Apple need not send the notification again.
    case refused(String)
    /// The intake cannot publish the notification now. Apple has to send the notification again.
    case unavailable(String)
}
