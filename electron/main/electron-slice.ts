import type * as Electron from 'electron'

type Real = typeof Electron
type Listen<Event extends string, Listener> = (event: Event, listener: Listener) => unknown
type Quiet<Event extends string> = Listen<Event, () => void>

/**
 * The part of Electron that this folder uses, cut out of Electron's own declarations. All code gets this slice as a parameter,
 * so that tests run without the binary. `main.ts` passes the real Electron, `test/fixtures/electron-stub.ts` a stub, and both
 * stop compiling when Electron or this slice changes.
 */
export interface ElectronSlice {
  readonly app: AppSlice
  readonly protocol: Pick<Real['protocol'], 'registerSchemesAsPrivileged' | 'handle'>
  readonly session: { readonly defaultSession: SessionSlice }
  readonly clipboard: Pick<Real['clipboard'], 'writeText'>
  readonly Notification: new (options: Electron.NotificationConstructorOptions) => NotificationSlice
  readonly ipcMain: Pick<Real['ipcMain'], 'removeHandler'> & {
    handle(channel: string, listener: (event: InvokeEvent, ...args: unknown[]) => unknown): void
  }
  readonly shell: Pick<Real['shell'], 'openExternal' | 'openPath' | 'showItemInFolder'>
  readonly crashReporter: Pick<Real['crashReporter'], 'start'>
  readonly dialog: Pick<Real['dialog'], 'showErrorBox'> & {
    showOpenDialog(options: Electron.OpenDialogOptions): Promise<{ canceled: boolean; filePaths: string[] }>
    showOpenDialog(
      window: ParentWindow,
      options: Electron.OpenDialogOptions,
    ): Promise<{ canceled: boolean; filePaths: string[] }>
    showMessageBox(options: Electron.MessageBoxOptions): Promise<{ response: number; checkboxChecked: boolean }>
    showMessageBox(
      window: ParentWindow,
      options: Electron.MessageBoxOptions,
    ): Promise<{ response: number; checkboxChecked: boolean }>
  }
  readonly powerMonitor: {
    /** Electron's declarations leave out the event of `shutdown`. */
    readonly on: Quiet<'resume'> & Quiet<'unlock-screen'> & Listen<'shutdown', (event?: Preventable) => void>
  }
  readonly nativeTheme: Pick<Real['nativeTheme'], 'shouldUseDarkColors'> & { themeSource: DesktopTheme }
  readonly nativeImage: Pick<Real['nativeImage'], 'createFromDataURL'>
  readonly Menu: {
    buildFromTemplate(template: Electron.MenuItemConstructorOptions[]): Electron.Menu
    setApplicationMenu(menu: Electron.Menu | null): void
  }
  readonly Tray: new (image: Electron.NativeImage) => TraySlice
  readonly BrowserWindow: {
    new (options: Electron.BrowserWindowConstructorOptions): WindowSlice
    getAllWindows(): WindowSlice[]
    getFocusedWindow(): WindowSlice | null
  }
}

/** The window that a question stays in front of. */
export type ParentWindow = Pick<
  Electron.BaseWindow,
  'show' | 'focus' | 'isVisible' | 'isMinimized' | 'restore' | 'isDestroyed'
>

export interface AppSlice extends Pick<
  Electron.App,
  | 'requestSingleInstanceLock'
  | 'whenReady'
  | 'quit'
  | 'exit'
  | 'getVersion'
  | 'getPath'
  | 'setPath'
  | 'getLocale'
  | 'getApplicationNameForProtocol'
  | 'setAsDefaultProtocolClient'
  | 'isPackaged'
  | 'setBadgeCount'
  | 'getLoginItemSettings'
  | 'setLoginItemSettings'
> {
  readonly on: Listen<'second-instance', (event: Preventable, argv: string[], folder: string, data: unknown) => void> &
    Listen<'open-url', (event: Preventable, url: string) => void> &
    Listen<'before-quit', (event: Preventable) => void> &
    Listen<
      'child-process-gone',
      (event: Preventable, details: Pick<Electron.Details, 'type' | 'reason' | 'exitCode'>) => void
    > &
    Quiet<'activate'> &
    Quiet<'window-all-closed'> &
    Listen<'web-contents-created', (event: Preventable, contents: ContentsSlice) => void> &
    Listen<'browser-window-created', (event: Preventable, window: WindowSlice) => void>
}

export type SessionSlice = Pick<
  Electron.Session,
  | 'setPermissionRequestHandler'
  | 'setPermissionCheckHandler'
  | 'setDevicePermissionHandler'
  | 'setSpellCheckerEnabled'
  | 'forceReloadProxyConfig'
  | 'resolveProxy'
>

export interface WindowSlice extends Pick<
  Electron.BrowserWindow,
  | 'loadURL'
  | 'close'
  | 'destroy'
  | 'show'
  | 'hide'
  | 'setProgressBar'
  | 'focus'
  | 'isVisible'
  | 'isMinimized'
  | 'restore'
  | 'isDestroyed'
  | 'isMaximized'
  | 'maximize'
  | 'getNormalBounds'
> {
  readonly webContents: ContentsSlice
  readonly once: Quiet<'ready-to-show'> & Quiet<'closed'>
  readonly on: Quiet<'close'> & Quiet<'session-end'>
}

export interface ContentsSlice extends Pick<
  Electron.WebContents,
  | 'id'
  | 'send'
  | 'isDestroyed'
  | 'setWindowOpenHandler'
  | 'getURL'
  | 'reload'
  | 'forcefullyCrashRenderer'
  | 'getZoomLevel'
  | 'setZoomLevel'
  | 'replaceMisspelling'
> {
  readonly on: Listen<'will-navigate', (event: Preventable, url: string) => void> &
    Listen<'will-redirect', (event: Preventable, url: string) => void> &
    Listen<'will-frame-navigate', (event: Preventable & { readonly isMainFrame?: boolean }) => void> &
    Listen<'will-attach-webview', (event: Preventable) => void> &
    Listen<'did-navigate', (event: Preventable, url: string) => void> &
    Listen<'will-prevent-unload', (event: Preventable) => void> &
    Quiet<'did-finish-load'> &
    Quiet<'did-fail-load'> &
    Quiet<'unresponsive'> &
    Quiet<'responsive'> &
    Listen<
      'render-process-gone',
      (event: Preventable, details: Pick<Electron.RenderProcessGoneDetails, 'reason'>) => void
    > &
    Listen<'before-input-event', (event: Preventable, input: Pick<Electron.Input, 'type' | 'key'>) => void> &
    Listen<'did-create-window', (window: WindowSlice) => void> &
    Listen<'context-menu', (event: Preventable, params: Electron.ContextMenuParams) => void> &
    Quiet<'destroyed'>
}

export type NotificationSlice = Pick<Electron.Notification, 'show'> & { readonly on: Quiet<'click'> & Quiet<'close'> }

export type TraySlice = Pick<Electron.Tray, 'setToolTip' | 'setContextMenu' | 'destroy'> & {
  readonly on: Quiet<'click'>
}

/** Theme of what the system draws for the app, and of pages that follow the system. */
export type DesktopTheme = Electron.NativeTheme['themeSource']

export interface Preventable {
  preventDefault(): void
}

export interface InvokeEvent {
  readonly sender: Pick<Electron.WebContents, 'id' | 'send' | 'isDestroyed' | 'startDrag'>
  /** Null if the frame is gone. */
  readonly senderFrame: { readonly url: string; readonly parent: unknown } | null
}
