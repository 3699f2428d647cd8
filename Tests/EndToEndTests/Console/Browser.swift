import EmbeddedPostgres
import Foundation
import Kafka
import TestSupport

/// Drives a Chromium without a window over WebDriver (https://www.w3.org/TR/webdriver2/).
final class Browser {
    /// Chromium's engine without the browser around the engine. It needs much less processor time than Chromium. The
    /// program of this name in /usr/bin is a shell script. If chromedriver ends the script, the browser goes on.
    private static let program = "/usr/lib/chromium/chromium-headless-shell"
    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"
    /// The longest time for starting a browser, in seconds. A busy machine starts a browser slowly.
    private static let seconds = 120.0

    private let driver: ChildProcess
    private let folder: URL
    private let port: Int
    private let session: String

    struct Fault: Error, CustomStringConvertible {
        var name: String?
        let description: String
    }

    /// - Parameters:
    ///   - width: the width of the window, in CSS pixels.
    ///   - runsScripts: true if the browser runs the pages' scripts.
    static func run(
        width: Int = 1_200, isDark: Bool = false, runsScripts: Bool = true, _ body: (Browser) async throws -> Void
    ) async throws {
        let browser = try await Browser(width: width, isDark: isDark, runsScripts: runsScripts)
        do {
            try await body(browser)
            await browser.close()
        } catch {
            await browser.close()
            throw error
        }
    }

    private init(width: Int, isDark: Bool, runsScripts: Bool) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        (driver, port) = try await Self.startDriver(in: folder)
        let options: [String: Any] = [
            "binary": Self.program,
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--force-prefers-reduced-motion",
                // Each page runs its scripts only once, so the compiler for often repeated code costs more than it saves.
                "--js-flags=--no-opt",
            ],
        ]
        let asked: [String: Any] = [
            "capabilities": ["alwaysMatch": ["browserName": "chrome", "goog:chromeOptions": options]]
        ]
        let answer = try await Self.ask(self.port, "POST", "/session", asked) as? [String: Any]
        guard let id = answer?["sessionId"] as? String else { throw Fault(description: "no session: \(answer ?? [:])") }
        session = id
        // Chromium's window cannot be as narrow as a phone, but its viewport can.
        try await devtools(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false])
        try await devtools(
            "Emulation.setEmulatedMedia",
            ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
        if !runsScripts { try await devtools("Emulation.setScriptExecutionDisabled", ["value": true]) }
    }

    /// Starts chromedriver. Makes up to three tries, because on a busy machine chromedriver may end or hang before it
    /// listens.
    private static func startDriver(in folder: URL) async throws -> (ChildProcess, port: Int) {
        var said = ""
        for attempt in 1...3 {
            let log = folder.appendingPathComponent("driver-\(attempt).log")
            // A browser gets only the time that the workers of other tests leave.
            var start = ChildProcess.Start(["/usr/bin/env", "nice", "chromedriver", "--port=0"], log: log.path)
            start.endsWithUs = true
            // chromedriver makes the browser's profile in TMPDIR.
            start.environment["TMPDIR"] = folder.path
            let driver = try ChildProcess(start)
            var port: Int?
            try? await eventually("chromedriver listens or ends", within: .seconds(seconds / 3)) {
                said = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                port = said.firstMatch(of: /started successfully on port (\d+)/).flatMap { Int($0.output.1) }
                return port != nil || !driver.isRunning
            }
            if let port { return (driver, port) }
            driver.send(SIGKILL)
        }
        throw Fault(description: "chromedriver does not listen: \(said)")
    }

    private func close() async {
        _ = try? await Self.ask(port, "DELETE", "/session/\(session)", nil)
        driver.send(SIGTERM)
        _ = try? await blocking { [driver] in driver.wait() }
        try? FileManager.default.removeItem(at: folder)
    }

    func open(_ address: String) async throws { _ = try await ask("POST", "/url", ["url": address]) }

    var address: String {
        get async throws { try await ask("GET", "/url", nil) as? String ?? "" }
    }

    var source: String {
        get async throws { try await ask("GET", "/source", nil) as? String ?? "" }
    }

    /// Runs a script in the page, with the rights of the developer tools.
    func evaluate(_ script: String) async throws -> Any? {
        try await ask("POST", "/execute/sync", ["script": script, "args": [Any]()])
    }

    /// Runs a script in the page. The script ends once it calls its last argument.
    func evaluateLater(_ script: String) async throws -> Any? {
        try await ask("POST", "/execute/async", ["script": script, "args": [Any]()])
    }

    func click(_ selector: String) async throws {
        _ = try await ask("POST", "/element/\(try await find(selector))/click", [:])
    }

    func type(_ text: String, into selector: String) async throws {
        _ = try await ask("POST", "/element/\(try await find(selector))/value", ["text": text])
    }

    /// Returns the text of an element. Tries again if the page changes between finding the element and reading its
    /// text.
    func text(_ selector: String) async throws -> String {
        while true {
            do {
                return try await ask("GET", "/element/\(try await find(selector))/text", nil) as? String ?? ""
            } catch let fault as Fault where fault.name == "stale element reference" {
                continue
            }
        }
    }

    private func find(_ selector: String) async throws -> String {
        let found = try await ask("POST", "/element", ["using": "css selector", "value": selector]) as? [String: Any]
        guard let id = found?[Self.elementKey] as? String else { throw Fault(description: "no element \(selector)") }
        return id
    }

    /// Presses keys one after another, as a person does.
    func press(_ keys: String) async throws {
        let actions = keys.flatMap { key in
            [["type": "keyDown", "value": "\(key)"], ["type": "keyUp", "value": "\(key)"]]
        }
        _ = try await ask(
            "POST", "/actions", ["actions": [["type": "key", "id": "keyboard", "actions": actions]]])
    }

    func screenshot(_ file: URL) async throws {
        let shot = try await devtools("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
        guard let text = (shot as? [String: Any])?["data"] as? String, let data = Data(base64Encoded: text) else {
            throw Fault(description: "no screenshot")
        }
        try data.write(to: file)
    }

    @discardableResult
    func devtools(_ command: String, _ parameters: [String: Any]) async throws -> Any? {
        try await ask("POST", "/goog/cdp/execute", ["cmd": command, "params": parameters])
    }

    private func ask(_ method: String, _ path: String, _ body: [String: Any]?) async throws -> Any? {
        try await Self.ask(port, method, "/session/\(session)\(path)", body)
    }

    private static func ask(_ port: Int, _ method: String, _ path: String, _ body: [String: Any]?) async throws -> Any?
    {
        let data = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        let answer = try await blocking {
            // Foundation's HTTP client cannot parse the headers of chromedriver.
            try EndedProgram.run(
                ["/usr/bin/env", "curl", "--silent", "--show-error", "--max-time", "\(seconds)", "--request", method]
                    + (data == nil ? [] : ["--data-binary", "@-"]) + ["http://127.0.0.1:\(port)\(path)"],
                input: String(decoding: data ?? Data(), as: UTF8.self)
            ).output
        }
        let value = (try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any])?["value"]
        if let fault = value as? [String: Any], let name = fault["error"] as? String {
            throw Fault(name: name, description: "\(name): \(fault["message"] ?? "")")
        }
        return value
    }
}

enum Key {
    static let tab = "\u{E004}"
    static let enter = "\u{E007}"
}
