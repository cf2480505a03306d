import { type DockerCheck } from '#proxy/contract'
import { type Network } from '#proxy/network'
import { type CredentialStore } from '../credentials/credential-store.ts'
import { type ElectronSlice } from '../electron-slice.ts'
import { type CrashReports } from '../faults/crash-reports.ts'
import { type Warnings } from '../faults/warnings.ts'
import { type ProxySignIns } from '../network/proxy-sign-ins.ts'
import { type Programs } from '../programs/open-program.ts'
import { type Questions } from '../questions/questions.ts'
import { type Language } from '../questions/words.ts'
import { type StartUserProxy } from '../server/connection.ts'
import { type ExtraAuthorities } from '../settings/extra-authorities.ts'
import { type LoginItem } from '../settings/login-item.ts'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type EmbeddedStack, type StackReport } from '../stack/embedded-stack.ts'
import { type Updates } from '../updates/updates.ts'
import { type DeepLinks } from '../windows/deep-links.ts'

/** Everything that `main.ts` gives to the app; each part takes what it needs of it. */
export interface DesktopDeps {
  readonly electron: ElectronSlice
  readonly questions: Questions
  /** Signals end it. */
  readonly process: Pick<NodeJS.EventEmitter, 'on'>
  /** Folder of the built page; `preload` is the path of the bundled preload script. */
  readonly consoleDir: string
  readonly preload: string
  readonly links: DeepLinks
  readonly settings: SettingsFile
  readonly credentials: CredentialStore
  /** BERTH_ENDPOINT: an address or a sign-in link, which overrides the user's choice. */
  readonly fixedEndpoint?: string | undefined
  /** Sign-in link of a Berth that was just started on this computer: used first; the user may choose another Berth later. */
  readonly signInLink?: string | undefined
  /** Called when the user was sent to a browser, perhaps to sign in at a provider: the result belongs to this profile. */
  readonly signInBegun: () => Promise<void>
  readonly startStack: (report: StackReport) => Promise<EmbeddedStack>
  readonly checkDocker: () => Promise<DockerCheck>
  /** Starts another app with its own settings, which connects to this server. */
  readonly openServer: (url: string) => Promise<void>
  readonly logs: { readonly folder: string }
  /** Folder of files that drags take out of the window; the app removes it at its end. */
  readonly draggedFolder: string
  readonly updates: Updates
  readonly warnings: Warnings
  readonly loginItem: LoginItem
  readonly authorities: ExtraAuthorities
  readonly crashReports: CrashReports
  readonly programs: Programs
  /** Whether this computer has a browser that opens links. */
  readonly hasBrowser: () => Promise<boolean>
  /** As `lead` of `LinkDeps`. */
  readonly leadBrowser?: ((url: string) => Promise<string>) | undefined
  /** True: the app starts in the tray, because it was started by the sign-in to this computer. */
  readonly startsInBackground: boolean
  readonly startProxy: StartUserProxy
  readonly network: Pick<Network, 'fetch' | 'agentFor' | 'shownBy'>
  readonly proxySignIns: Pick<ProxySignIns, 'answered' | 'forgetCancelled'>
  /** Answers the requests of windows that ask a question, such as the one for a proxy's password. */
  readonly answerQuestion: (request: Request) => Promise<Response>
  /** Language of menus and questions. */
  readonly language: () => Language
  readonly log: { warn(detail: object, message: string): void; error(detail: object, message: string): void }
}

/** Logs a failure that no caller waits for. */
export type OnUnexpected = (where: string, error: unknown) => void
