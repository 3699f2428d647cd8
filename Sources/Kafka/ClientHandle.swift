import CRDKafka
import Synchronization

/// A `rd_kafka_t`, which its owner destroys exactly once.
///
/// Sendable is sound: librdkafka's clients are thread-safe (rdkafka.h), and both fields are immutable.
final class ClientHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    private let context: Unmanaged<ClientContext>
    /// True if librdkafka refused the last client that this process tried to create.
    private static let lastWasRefused = Atomic(false)

    /// Creates the client. `configure` runs after the caller's properties are set, and sets this kind of client's
    /// callbacks.
    init(
        _ kind: rd_kafka_type_t,
        properties: KafkaProperties,
        context: ClientContext,
        configure: (OpaquePointer) -> Void
    ) throws(KafkaError) {
        // A refused `rd_kafka_new` below leaks its configuration, and `ClientTrial` leaks nothing. So after a refusal
        // the code first tries the properties with `ClientTrial`.
        if Self.lastWasRefused.load(ordering: .relaxed) { try ClientTrial.run(kind, properties) }
        let configuration = try properties.makeConfiguration()
        // Without this, log lines would wait in a queue that nothing reads.
        rd_kafka_conf_set(configuration, "log.queue", "false", nil, 0)
        // `destroy` releases this reference after librdkafka's last thread has ended. If there is no client, the code
        // below releases it.
        let retained = Unmanaged.passRetained(context)
        rd_kafka_conf_set_opaque(configuration, retained.toOpaque())
        rd_kafka_conf_set_log_cb(configuration) { client, level, facility, message in
            guard let client, let facility, let message else { return }
            let line = KafkaLogLine(
                level: level, facility: String(cString: facility), message: String(cString: message))
            ClientContext.of(rd_kafka_opaque(client))?.log(line)
        }
        CertificateVerdict.report(in: configuration)
        BrokerContact.listen(in: configuration, retained)
        ThreadSlack.set(in: configuration)
        configure(configuration)

        let (created, message) = withErrorText { text, size in rd_kafka_new(kind, configuration, text, size) }
        guard let created else {
            let code = rd_kafka_last_error()
            // If `rd_kafka_new` fails after it called the interceptors, it frees them but leaves their pointers in the
            // caller's configuration (rdkafka.c of 2.0.2, `fail:`). Destroying that configuration would free the
            // interceptors again. So the code leaks the configuration, which has some kilobytes.
            if !context.contact.isListening { rd_kafka_conf_destroy(configuration) }
            retained.release()
            Self.lastWasRefused.store(true, ordering: .relaxed)
            throw KafkaError(code, message: message)
        }
        Self.lastWasRefused.store(false, ordering: .relaxed)
        pointer = created
        self.context = retained
    }

    /// Blocks until librdkafka's threads have ended: do not call it on Swift's cooperative pool. Nothing may use the
    /// handle during the call or later.
    func destroy(flags: Int32 = 0) {
        rd_kafka_destroy_flags(pointer, flags)
        context.release()
    }

    /// The error that made this client unusable; nil if there is none.
    var fatalError: KafkaError? {
        let (code, message) = withErrorText { text, size in rd_kafka_fatal_error(pointer, text, size) }
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { return nil }
        return KafkaError(code, message: message, isFatal: true)
    }

    /// Returns the error for a code. For `_FATAL`, which only says that the client has a fatal error, returns that
    /// fatal error. Once the client has a fatal error, every other error is marked as fatal too, for example the error
    /// of a purged record.
    func error(_ code: rd_kafka_resp_err_t, message: String?, place: KafkaError.Place? = nil) -> KafkaError {
        guard let fatalError else { return KafkaError(code, message: message, place: place) }
        if code == RD_KAFKA_RESP_ERR__FATAL || code.rawValue == fatalError.code { return fatalError }
        return KafkaError(code, message: message, isFatal: true)
    }
}

/// Runs a librdkafka call that writes a text when it fails. Returns the call's value and the text, which is empty on
/// success.
func withErrorText<Value>(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Value) -> (Value, String) {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { text in
        text.initialize(repeating: 0)
        let value = call(text.baseAddress, text.count)
        return (value, text.baseAddress.map { String(cString: $0) } ?? "")
    }
}
