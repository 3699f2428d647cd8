public import Logging
import NamesAndTimes

/// Writes log lines to standard error, each with one `write(2)`.
public struct StandardErrorLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let format: LogFormat
    private let sharedLevel: LogLevelSwitch
    /// The level of this logger only; nil for the level of all loggers.
    private var ownLevel: Logger.Level?
    private let now: @Sendable () -> Int64
    private let write: @Sendable ([UInt8]) -> Void

    public init(label: String, format: LogFormat, level: LogLevelSwitch) {
        self.init(
            label: label, format: format, level: level,
            now: { WallClock.now.milliseconds }, write: StandardError.write)
    }

    /// - Parameters:
    ///   - now: returns milliseconds since 1970.
    ///   - write: writes one whole line.
    public init(
        label: String, format: LogFormat, level: LogLevelSwitch,
        now: @escaping @Sendable () -> Int64, write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.label = label
        self.format = format
        sharedLevel = level
        self.now = now
        self.write = write
    }

    /// Makes every `Logger(label:)` of the process use this handler. The process must call this once, before its first
    /// logger exists.
    public static func bootstrap(format: LogFormat, level: LogLevelSwitch) {
        LoggingSystem.bootstrap { StandardErrorLogHandler(label: $0, format: format, level: level) }
    }

    public var logLevel: Logger.Level {
        get { ownLevel ?? sharedLevel.level }
        set { ownLevel = newValue }
    }

    public subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let error = event.error { all[LogKey.error.rawValue] = "\(error)" }
        // The metadata of the line overrides the metadata of the logger.
        if let own = event.metadata { all.merge(own) { _, new in new } }
        let line = LogLine(
            time: now(), level: event.level, label: label, message: event.message.description, metadata: all)
        write(line.rendered(format))
    }
}
