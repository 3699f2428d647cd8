import Foundation
import TestSupport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests to a worker's HTTP server, as Prometheus and Kubernetes do.
enum HTTPProbe {
    struct Answer: Sendable {
        let status: Int
        let body: String
    }

    static func get(port: Int, _ path: String) async throws -> Answer { try await ask(port, path) }

    static func post(port: Int, _ path: String, _ body: String) async throws -> Answer {
        try await ask(port, path) { request in
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
        }
    }

    private static func ask(
        _ port: Int, _ path: String, _ change: (inout URLRequest) -> Void = { _ in }
    ) async throws -> Answer {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
            throw DeadlinePassed(description: "no URL: \(path)")
        }
        var request = URLRequest(url: url, timeoutInterval: 10)
        change(&request)
        let (data, response) = try await URLSession.shared.data(for: request)
        return Answer(
            status: (response as? HTTPURLResponse)?.statusCode ?? 0, body: String(decoding: data, as: UTF8.self))
    }
}

/// A scrape of `/metrics`, with the value of each series.
struct Scrape: Sendable {
    let text: String
    private let values: [String: Double]

    init(_ text: String) {
        self.text = text
        var values: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                continue
            }
            values[String(line[..<space])] = value
        }
        self.values = values
    }

    subscript(series: String) -> Double? { values[series] }

    var names: Set<String> {
        Set(text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) })
    }
}
