import type { FolderId, SessionId, TextKeys, WireError } from '#manager/contract'

/** Steps of the start of Berth on this computer, in their order. */
export const STACK_STEPS = ['docker', 'manager', 'console', 'agent'] as const
export type StackStep = (typeof STACK_STEPS)[number]

/** State of the Docker Engine of this computer, as the desktop app sees it. */
export interface DockerCheck {
  /** `unsupported`: sessions run on Linux hosts only; `denied`: the user may not use the engine. */
  readonly state: 'ready' | 'missing' | 'stopped' | 'denied' | 'unsupported'
  /** Command line that fixes it; null if no single one fits every system of this kind. */
  readonly command: string | null
}

/** The start of Berth on this computer, as the start screen shows it. */
export interface StackStart {
  readonly state: 'idle' | 'starting' | 'ready' | 'failed'
  /** `absent`: the service was not started, and the others work without it. */
  readonly steps: Readonly<Record<StackStep, 'waiting' | 'running' | 'done' | 'absent' | 'failed'>>
  /** The newest lines of the services, oldest first. */
  readonly log: readonly string[]
  /** Set with `failed`. */
  readonly error: WireError | null
  /** Why there is no agent, e.g. because the Docker Engine has one of another Berth; else null. */
  readonly agentMissing: WireError | null
  readonly docker: DockerCheck | null
  /** Reason why sessions can reach this computer and its network; null if they cannot, or while that is not known. */
  readonly partlyIsolated: ToldReason | null
}

/** A reason in English, and by key and values for translations. */
export type ToldReason = TextKeys & { readonly why: string }

/** A message of the app for its page, shown until the user closes it; at most one of a kind is open. */
export type DesktopWarning =
  /** The credential store does not work, so the sign-in ends with the app. `why` is the text of the store. */
  | { readonly kind: 'sign_in_not_kept'; readonly why: string }
  /** Sessions on this computer can reach it and its network. */
  | { readonly kind: 'partly_isolated'; readonly reason: ToldReason }

/** Settings of the desktop app that a user chooses. */
export interface DesktopOptions {
  /** Starts with the user's sign-in to this computer, without a window. */
  readonly openAtLogin: boolean
  /** The app keeps running without a window when the last one is closed, without asking. */
  readonly keepInBackground: boolean
  /** Marks misspelled words in text fields. Except on macOS, Chromium downloads a dictionary for it, once. */
  readonly checkSpelling: boolean
  /** Off from the next start on, for computers whose graphics driver crashes. */
  readonly graphicsAcceleration: boolean
  /** Writes a report of each crash into a folder; it is sent nowhere. Off from the next start on. */
  readonly crashReports: boolean
  /** Hosts whose links open without a question, the latest first. Saving can only remove hosts. */
  readonly linkHosts: readonly string[]
  /** PEM file of more certificate authorities. Saving can only remove it. */
  readonly caFile: string | null
}

/** Report of the console's page to the app, for badge, tray and task bar. */
export interface DesktopReport {
  /** Notices that were not read. */
  readonly unread: number
  /** Running sessions of the user, the latest first. */
  readonly sessions: readonly { readonly id: SessionId; readonly name: string }[]
  /** Null while nothing is uploaded. */
  readonly uploads: { readonly fraction: number; readonly isPaused: boolean } | null
  /** Whether a text has changes that are not saved. */
  readonly hasEdits: boolean
}

/** A notification of the operating system. */
export interface DesktopNotice {
  readonly text: string
  /** Route of the console that a click leads to. */
  readonly to: string
}

/** Files of one directory that a drag takes out of the window. */
export interface DraggedOut {
  readonly folderId: FolderId
  readonly paths: readonly string[]
}

/** Largest number of bytes that are fetched for one drag. */
export const MOST_DRAGGED_BYTES = 2 ** 29
/** Largest number of files of one drag. */
export const MOST_DRAGGED_FILES = 100
