import Foundation
import Logging
import NamesAndTimes
import Synchronization
import Testing

@testable import Operations

/// Keeps the lines that a logger wrote.
final class LogRecorder: Sendable {
    private let written = Mutex<[String]>([])

    var lines: [String] { written.withLock { $0 } }

    func logger(_ format: LogFormat, level: LogLevelSwitch = LogLevelSwitch(.trace), label: String = "test") -> Logger {
        Logger(label: label) { label in
            StandardErrorLogHandler(
                label: label, format: format, level: level, now: { 1_783_069_500_042 },
                write: { bytes in self.written.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } })
        }
    }
}

@Suite("The lines of the log")
struct LogTests {
    private struct Unreachable: Error, CustomStringConvertible {
        var description: String { "unreachable" }
    }

    @Test("A JSON log line has time, level, logger and message, then the sorted metadata")
    func json() {
        let recorder = LogRecorder()
        recorder.logger(.json).info("joined", [.topic: "submissions", .partition: .stringConvertible(3)])
        #expect(
            recorder.lines == [
                #"{"ts":"2026-07-03T09:05:00.042Z","level":"info","logger":"test","msg":"joined","partition":3,"topic":"submissions"}"#
                    + "\n"
            ])
    }

    @Test("A text log line has time, level, logger and message, then the sorted metadata, quoted where needed")
    func text() {
        let recorder = LogRecorder()
        recorder.logger(.text).warning("cannot reach it", [.error: "no route", .attempt: "2", .reason: ""])
        #expect(
            recorder.lines == [
                "2026-07-03T09:05:00.042Z warning  [test] cannot reach it attempt=2 error=\"no route\" reason=\"\"\n"
            ])
    }

    /// Identifiers that a player's client may send.
    static let hostile = [
        "\n{\"level\":\"critical\"}", "\r\n", "\u{1B}[2J\u{7}", "\u{0}", "\u{85}\u{9B}31m", "\u{2028}\u{2029}",
        "\u{202E}drawkcab\u{2066}", "\"quoted\" = \\n", "é\u{301}👩‍👩‍👧 ÿ",
        String(decoding: [0xFF, 0xC0, 0xAF, 0xED, 0xA0, 0x80], as: UTF8.self),
    ]

    @Test(
        "A hostile value in a log line adds no second line and no control character", arguments: hostile,
        LogFormat.allCases)
    func injection(value: String, format: LogFormat) throws {
        let recorder = LogRecorder()
        let logger = recorder.logger(format, label: value)
        logger.info(
            "\(value)", metadata: ["\(value)": "\(value)", "list": [.string(value)], "inner": ["\(value)": "x"]])
        let line = try #require(recorder.lines.first)
        #expect(line.hasSuffix("\n"))
        for scalar in line.dropLast().unicodeScalars {
            #expect(scalar.properties.generalCategory != .control)
            #expect(![0x2028, 0x2029, 0x202E, 0x2066].contains(scalar.value))
        }
        guard format == .json else { return }
        let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["msg"] as? String == value)
        #expect(object["logger"] as? String == value)
        #expect(object["level"] as? String == "info")
        #expect(object[value] as? String == value)
        #expect(object["list"] as? [String] == [value])
        #expect(object["inner." + value] as? String == "x")
    }

    @Test("Metadata named like a member of the JSON log line gets a prefix, and does not replace the member")
    func reserved() throws {
        let recorder = LogRecorder()
        recorder.logger(.json).info("m", metadata: ["level": "critical", "ts": "0", "msg": "x", "logger": "y"])
        let object = try #require(
            JSONSerialization.jsonObject(with: Data((recorder.lines.first ?? "").utf8)) as? [String: Any])
        #expect(object["level"] as? String == "info")
        #expect(object["metadata.level"] as? String == "critical")
        #expect(object.count == 8)
    }

    @Test("A JSON log line has numbers and booleans as JSON values, and NaN as a string")
    func numbers() {
        let recorder = LogRecorder()
        recorder.logger(.json).info(
            "m",
            metadata: [
                "a": .stringConvertible(UInt64.max), "b": .stringConvertible(0.25), "c": .stringConvertible(true),
                "d": .stringConvertible(Double.nan),
            ])
        #expect(recorder.lines.first?.contains(#""a":18446744073709551615,"b":0.25,"c":true,"d":"nan"}"#) == true)
    }

    @Test("The log cuts a value of 100,000 characters to less than 5,000 bytes")
    func limit() throws {
        let recorder = LogRecorder()
        recorder.logger(.json).info("m", [.detail: .string(String(repeating: "x", count: 100_000))])
        let line = try #require(recorder.lines.first)
        #expect(line.utf8.count < 5_000)
        #expect(line.hasSuffix("x…\"}\n"))
    }

    @Test("A log line's own metadata overrides the line's error, the provider's metadata and the logger's metadata")
    func precedence() {
        let recorder = LogRecorder()
        var logger = recorder.logger(.text)
        logger[metadataKey: "topic"] = "logger"
        logger[metadataKey: "host"] = "logger"
        logger.handler.metadataProvider = Logger.MetadataProvider { ["host": "provider"] }
        logger.error("m", error: Unreachable())
        logger.error("m", error: Unreachable(), metadata: ["error": "own", "host": "own"])
        #expect(
            recorder.lines.map { $0.split(separator: "] ")[1] } == [
                "m error=unreachable host=provider topic=logger\n", "m error=own host=own topic=logger\n",
            ])
    }

    @Test("A change of the shared log level applies to every logger, except a logger with its own level")
    func levels() {
        let recorder = LogRecorder()
        let level = LogLevelSwitch(.info)
        let shared = recorder.logger(.text, level: level)
        var own = recorder.logger(.text, level: level)
        own.logLevel = .error
        shared.debug("hidden", [:])
        level.level = .debug
        shared.debug("shown", [:])
        own.info("hidden", [:])
        #expect(recorder.lines.count == 1)
        #expect(recorder.lines.first?.contains("shown") == true)
        for each in Logger.Level.allCases {
            level.level = each
            #expect(level.level == each)
        }
    }

    @Test(
        "Times in the log are RFC 3339 in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"),
        ] as [(Int64, String)])
    func times(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test("Long log lines that four tasks write simultaneously do not mix")
    func noMixing() async throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        let reading = pipe.fileHandleForReading
        // The reader has its own thread, because writers that wait for a full pipe may block every thread of the pool.
        let (chunks, told) = AsyncStream.makeStream(of: Data.self)
        Thread.detachNewThread {
            told.yield((try? reading.readToEnd()) ?? Data())
            told.finish()
        }
        await withTaskGroup(of: Void.self) { group in
            for letter in UInt8(ascii: "a")...UInt8(ascii: "d") {
                group.addTask {
                    for _ in 0..<20 {
                        StandardError.write(Array(repeating: letter, count: 9_999) + [0x0A], to: descriptor)
                    }
                }
            }
        }
        try pipe.fileHandleForWriting.close()
        let lines = await chunks.reduce(into: Data()) { $0 += $1 }.split(separator: 0x0A)
        #expect(lines.count == 80)
        #expect(lines.allSatisfy { $0.count == 9_999 && Set($0).count == 1 })
    }
}
