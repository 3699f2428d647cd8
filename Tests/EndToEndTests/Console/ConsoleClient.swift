import Foundation
import TestSupport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An HTTP client that keeps its cookie, and does not follow redirects.
final class ConsoleClient: Sendable {
    struct Answer: Sendable {
        let status: Int
        let body: String
        let headers: [String: String]

        subscript(header: String) -> String? { headers[header.lowercased()] }

        /// The token of the first form with a token; nil if no form has a token.
        var token: String? {
            body.firstMatch(of: /name="token" value="([0-9a-f]{64})"/).map { String($0.output.1) }
        }

        /// The hidden fields of the page's form.
        var form: [String: String] {
            let fields = body.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/)
            return Dictionary(fields.map { (String($0.output.1), String($0.output.2)) }, uniquingKeysWith: { $1 })
        }
    }

    let port: Int
    let cookie: String?
    private let session = URLSession(configuration: .ephemeral, delegate: Unredirected(), delegateQueue: nil)

    init(port: Int, cookie: String? = nil) {
        self.port = port
        self.cookie = cookie
    }

    static func signedIn(port: Int, _ name: String, _ password: String) async throws -> ConsoleClient {
        let answer = try await ConsoleClient(port: port).post("/sign-in", ["name": name, "password": password])
        guard answer.status == 303, let cookie = answer["Set-Cookie"] else {
            throw DeadlinePassed(description: "not signed in: \(answer.status)")
        }
        return ConsoleClient(port: port, cookie: String(cookie.prefix { $0 != ";" }))
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> Answer {
        try await ask("GET", path, nil, headers)
    }

    func post(
        _ path: String, _ form: [String: String], headers: [String: String] = [:]
    ) async throws -> Answer {
        let body = form.map { "\($0.key)=\(Self.encoded($0.value))" }.joined(separator: "&")
        return try await ask("POST", path, body, headers)
    }

    /// Requests a confirmation page, and posts the page's form, as a person does.
    func confirm(_ address: String, note: String = "") async throws -> Answer {
        let made = try await post("/change", try await get(address).form.merging(["note": note]) { $1 })
        guard made.status == 303, let location = made["Location"] else { return made }
        return try await get(location)
    }

    private func ask(
        _ method: String, _ path: String, _ body: String?, _ headers: [String: String]
    ) async throws -> Answer {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
            throw DeadlinePassed(description: "no URL: \(path)")
        }
        var request = URLRequest(url: url, timeoutInterval: 60)
        request.httpMethod = method
        request.httpShouldHandleCookies = false
        if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
        if let body {
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(body.utf8)
        }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await session.data(for: request)
        let told = (response as? HTTPURLResponse)?.allHeaderFields ?? [:]
        let pairs = told.map { ("\($0.key)".lowercased(), "\($0.value)") }
        return Answer(
            status: (response as? HTTPURLResponse)?.statusCode ?? 0, body: String(decoding: data, as: UTF8.self),
            headers: Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
    }

    static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private final class Unredirected: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }
}
