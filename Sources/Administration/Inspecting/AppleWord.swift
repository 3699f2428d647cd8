import BackOffice
import Foundation
import Fulfillment
import Kafka
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

/// Describes why requests to Apple wait or fail, from PostgreSQL's rows and from the metrics of the worker at
/// `HTTP_HOST` and `HTTP_PORT`.
package enum AppleWord {
    private static let metrics = ["receiptd_apple_circuit_open", "receiptd_misconfigured", "receiptd_apple_down"]

    /// Returns a line for each known cause. If the worker reports no trouble, or does not answer, a line says so.
    package static func lines(_ http: HTTPSettings, in pool: PostgresPool) async -> [String] {
        var lines: [String] = []
        do {
            let holds = try await PostgresAppleBudget(pool: pool).holds()
            lines += holds.sorted { $0.key.bundleID < $1.key.bundleID }.map { scope, seconds in
                "Apple asked to wait (Retry-After): \(ShownText.plain(scope.bundleID.text)), \(scope.endpoint), "
                    + "\(scope.environment.rawValue), \(Int(seconds.rounded(.up))) s more"
            }
        } catch {
            lines.append("inspect could not read whether Apple asked to wait: \(error)")
        }
        if let now = try? await DatabaseClock.read(from: pool),
            let traffic = try? await Traffic.read(.hour, from: pool)
        {
            lines += AppleTrouble.lines(traffic, now: now)
        }
        guard http.port > 0 else {
            return lines + ["HTTP_PORT is 0, so inspect asked no worker about Apple: look at the workers' pages"]
        }
        let place = "\(http.host):\(http.port)"
        guard let text = try? await blocking({ PlainHTTP.get("/metrics", host: http.host, port: http.port) }) else {
            return lines + ["no worker answers inspect at \(place): look at the workers' pages for Apple's answers"]
        }
        let told = troubles(inMetrics: text).map { "the worker at \(place): \($0)" }
        return lines + (told.isEmpty ? ["the worker at \(place) reports no trouble at Apple"] : told)
    }

    /// Returns a sentence for each series of a worker's metrics that reports trouble with Apple.
    static func troubles(inMetrics text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            guard let name = metrics.first(where: { line.hasPrefix($0) }), let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...]), value > 0
            else { return nil }
            let labels = ShownText.plain(
                String(line[line.index(line.startIndex, offsetBy: name.count)..<space]), limit: 400
            )
            .replacing("\\\"", with: "\"")
            return name == "receiptd_misconfigured"
                ? "an app's credentials are wrong \(labels)"
                : "requests to Apple are held back after failures \(labels)"
        }
    }
}

/// Sends one GET over HTTP/1.0, to a worker's own page. Each wait on the socket ends after 2 s. Reading the response
/// ends after 5 s in all.
enum PlainHTTP {
    private static let seconds = 2
    private static let totalSeconds = 5.0
    private static let maximumBytes = 4 * 1024 * 1024

    /// Returns the body of a response with status 200; nil otherwise.
    static func get(_ path: String, host: String, port: Int) -> String? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let found else { return nil }
        defer { freeaddrinfo(found) }
        let connection = socket(found.pointee.ai_family, found.pointee.ai_socktype, found.pointee.ai_protocol)
        guard connection >= 0 else { return nil }
        defer { close(connection) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(connection, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connect(connection, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 else { return nil }
        let request = Array("GET \(path) HTTP/1.0\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8)
        guard send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            return nil
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let end = WallClock.monotonicSeconds + totalSeconds
        while answer.count < maximumBytes, WallClock.monotonicSeconds < end {
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { break }
            answer += chunk[..<count]
        }
        let text = String(decoding: answer, as: UTF8.self)
        guard let head = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1."), text.dropFirst(9).hasPrefix("200")
        else {
            return nil
        }
        return String(text[head.upperBound...])
    }
}
