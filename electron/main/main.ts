import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import * as electron from 'electron'
import { multistream, pino } from 'pino'
import { startProxy, tidySshFiles } from '#proxy'
import { createNetwork, parsePacAnswer } from '#proxy/network'
import { updateSourceOf } from '#proxy/updates'
import { createKeyringCredentials } from './credentials/keyring-credentials.ts'
import { createCrashReports } from './faults/crash-reports.ts'
import { listenForUnexpected } from './faults/unexpected.ts'
import { registerConsoleScheme, startDesktop } from './desktop.ts'
import { openLogFile } from './log-file.ts'
import { createProxyQuestions } from './network/proxy-question.ts'
import { createProxySignIns } from './network/proxy-sign-ins.ts'
import { hasBrowser } from './programs/browser.ts'
import { leadBrowser } from './security/lead-browser.ts'
import { createDrives } from './programs/drives.ts'
import { createPrograms } from './programs/open-program.ts'
import { readEarlySettings } from './settings/early-settings.ts'
import { createExtraAuthorities } from './settings/extra-authorities.ts'
import { BACKGROUND_SWITCH, createLoginItem } from './settings/login-item.ts'
import { openSettings } from './settings/open-settings.ts'
import { openSettingsFile } from './settings/settings-file.ts'
import { createSignInOwner } from './server/sign-in-owner.ts'
import { checkDocker, thisComputer } from './stack/docker-check.ts'
import { type EmbeddedStack, startEmbeddedStack, type StackReport } from './stack/embedded-stack.ts'
import { findPrograms } from './stack/find-programs.ts'
import { packageKinds } from './updates/package-kinds.ts'
import { createUpdates } from './updates/updates.ts'
import { listenForDeepLinks, type SecondStart } from './windows/deep-links.ts'
import { createQuestions } from './questions/questions.ts'
import { languageOf } from './questions/words.ts'
import { createWarnings } from './faults/warnings.ts'

/**
 * Main process of the desktop app. Bundled into `dist/electron/main/main.js`; the page is `dist/renderer`, the preload
 * script `dist/electron/preload/index.cjs`.
 *
 * Environment: BERTH_ENDPOINT (an address or a sign-in link, instead of the user's choice), BERTH_SIGN_IN_LINK (a link of a Berth that was
 * just started here, which is used first; a second start hands it to the app that runs), BERTH_CONFIG_DIR, BERTH_CONSOLE_DIR (the built
 * page), BERTH_NODE (Node 24 that runs the embedded stack), BERTH_SSH_DIR (instead of
 * `~/.ssh`), BERTH_LOG. The stack reads BERTH_DATA and the rest itself.
 */
const here = import.meta.dirname
const appRoot = path.resolve(here, '../../..')
const env = process.env
const { app } = electron
/** `--profile=NAME`: separate settings, sign-in and tunnels, so that several servers can be open at once. */
const profile = /^[\w.-]{1,100}$/.exec(app.commandLine.getSwitchValue('profile'))?.[0]
const baseDir = env.BERTH_CONFIG_DIR ?? app.getPath('userData')
const configDir = profile === undefined ? baseDir : profileDir(profile)
if (profile !== undefined) app.setPath('userData', path.join(configDir, 'chromium'))
const logs = path.join(configDir, 'logs')
const level = env.BERTH_LOG ?? 'info'
const log = pino(
  { level, name: 'desktop' },
  multistream([
    { level: level as 'info', stream: pino.destination(2) },
    { level: level as 'info', stream: openLogFile(logs) },
  ]),
)

function profileDir(name: string): string {
  return path.join(baseDir, 'profiles', name)
}

const settingsFile = path.join(configDir, 'desktop.json')
const early = readEarlySettings(settingsFile)
if (!early.graphicsAcceleration) app.disableHardwareAcceleration()
const crashReports = createCrashReports(electron, path.join(configDir, 'crashes'))
if (early.crashReports) crashReports.start()
// Every window has the sandbox in its preferences; this covers a window that forgot it.
if (!app.commandLine.hasSwitch('no-sandbox')) app.enableSandbox()
registerConsoleScheme(electron)
const links = listenForDeepLinks({ app, argv: process.argv, log })
const signIns = createSignInOwner(path.join(baseDir, 'sign-in.json'), profile)
const owner = signIns.otherProfile(process.argv)
if (owner) {
  // This start only passes on the link: the app of the other profile takes it, and starts if it does not run.
  const [program, ...args] = startCommand(owner.profile)
  spawnAnother(program, [...args, ...process.argv.filter(argument => argument.startsWith('berth://'))])
  app.exit(0)
} else if (isFirst()) {
  // Not awaited: Electron becomes ready only after this module has been evaluated.
  start().catch((error: unknown) => {
    log.error({ err: error }, 'the desktop app could not start')
    // Before any window exists, nothing else would tell the user.
    electron.dialog.showErrorBox('Berth could not start', error instanceof Error ? error.message : String(error))
    app.exit(1)
  })
} else {
  // The first instance shows its window, with our link if we were given one.
  app.exit(0)
}

/** Whether this is the only running app of the profile; if not, the running one gets our links. */
function isFirst(): boolean {
  if (!env.BERTH_SIGN_IN_LINK) return app.requestSingleInstanceLock()
  const told: SecondStart = { signInLink: env.BERTH_SIGN_IN_LINK }
  return app.requestSingleInstanceLock(told)
}

async function start(): Promise<void> {
  await app.whenReady()
  // The system gives links to the profile without a name, which passes on those of other profiles.
  const [appProgram, ...appArguments] = startCommand(undefined)
  app.setAsDefaultProtocolClient('berth', appProgram, appArguments)
  const ofSystem = languageOf(app.getLocale())
  const questions = createQuestions(electron)
  const settings = await openSettings(questions.ask, settingsFile, ofSystem)
  if (!settings) {
    app.exit(1)
    return
  }
  // Proxy settings of the operating system, or of a PAC file: Chromium reads both.
  const { defaultSession } = electron.session
  // Right after the start Chromium answers DIRECT until it has read the settings.
  const settingsRead = defaultSession.forceReloadProxyConfig()
  const language = () => settings.current.language ?? ofSystem
  listenForUnexpected({
    process,
    ask: questions.ask,
    showLogs: () => void electron.shell.openPath(logs),
    language,
    log,
  })
  tidySshFiles(env.BERTH_SSH_DIR).catch((error: unknown) =>
    log.warn({ err: error }, 'keys of an app that was killed stay'),
  )
  crashReports.tidy().catch((error: unknown) => log.warn({ err: error }, 'old crash reports stay'))
  const authorities = createExtraAuthorities(questions, settings)
  await authorities
    .apply()
    .catch((error: unknown) => log.error({ err: error }, 'the certificate authorities of the settings are not trusted'))
  const warnings = createWarnings({ settings, log })
  const credentials = createKeyringCredentials({
    onUnusable(why) {
      log.warn({ why }, 'the sign-in is kept in memory')
      warnings.add({ kind: 'sign_in_not_kept', why })
    },
    onKept: () => warnings.remove('sign_in_not_kept'),
  })
  const proxyQuestions = createProxyQuestions({
    electron,
    language,
    parent: () => electron.BrowserWindow.getAllWindows().find(window => window.isVisible()),
  })
  const proxySignIns = createProxySignIns({
    store: credentials,
    ask: proxyQuestions.ask,
    onUnexpected: error => log.warn({ err: error }, 'the sign-in to the proxy is kept in memory'),
  })
  const network = createNetwork({
    signInFor: wanted => proxySignIns.signInFor(wanted),
    pinOf: origin => settings.current.certificates[origin],
    async findWays(target) {
      await settingsRead
      return parsePacAnswer(await defaultSession.resolveProxy(target.origin))
    },
  })
  const about: unknown = JSON.parse(await readFile(path.join(appRoot, 'package.json'), 'utf8'))
  const kinds = await packageKinds(process.platform, env.APPIMAGE)
  startDesktop({
    electron,
    questions,
    process,
    consoleDir: env.BERTH_CONSOLE_DIR ?? path.join(appRoot, 'dist/renderer'),
    preload: path.join(here, '../preload/index.cjs'),
    links,
    settings,
    credentials,
    fixedEndpoint: env.BERTH_ENDPOINT,
    signInLink: env.BERTH_SIGN_IN_LINK,
    signInBegun: () => signIns.begun(),
    logs: { folder: logs },
    draggedFolder: path.join(configDir, 'dragged'),
    updates: createUpdates({
      source: updateSourceOf(about),
      version: app.getVersion(),
      platform: { os: process.platform, arch: process.arch, kinds },
      folder: path.join(configDir, 'updates'),
      settings,
      fetch: network.fetch,
      questions,
      showFile: file => electron.shell.showItemInFolder(file),
      language,
      log,
    }),
    authorities,
    warnings,
    crashReports,
    programs: createPrograms({
      platform: process.platform,
      env,
      folder: path.join(configDir, 'programs'),
      drives: createDrives({
        platform: process.platform,
        env,
        folder: path.join(app.getPath('home'), 'Berth'),
        show: folder => void electron.shell.openPath(folder).then(why => why !== '' && log.warn({ why }, 'drive')),
      }),
      schemes: {
        has: scheme => app.getApplicationNameForProtocol(`${scheme}://`) !== '',
        open: url => electron.shell.openExternal(url),
      },
    }),
    // The arguments of a program that opens links are for everybody to read only here.
    leadBrowser: process.platform === 'linux' ? url => leadBrowser(url) : undefined,
    hasBrowser: () =>
      hasBrowser({
        platform: process.platform,
        env,
        nameFor: scheme => app.getApplicationNameForProtocol(`${scheme}://`),
      }),
    loginItem: createLoginItem({
      app,
      platform: process.platform,
      command: startCommand(profile),
      configHome: env.XDG_CONFIG_HOME ?? path.join(app.getPath('home'), '.config'),
      name: profile === undefined ? 'berth' : `berth-${profile}`,
    }),
    startsInBackground:
      process.argv.includes(BACKGROUND_SWITCH) ||
      (process.platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin),
    checkDocker: async () => checkDocker(await thisComputer()),
    openServer,
    startStack: report => startStack(report, settings.current.caFile),
    startProxy: options =>
      startProxy({
        ...options,
        dataDir: configDir,
        ownUserOnly: true,
        network,
        log,
        ...(env.BERTH_SSH_DIR ? { sshDirectory: env.BERTH_SSH_DIR } : {}),
      }),
    network,
    proxySignIns,
    answerQuestion: request => proxyQuestions.answer(request),
    language,
    log,
  })
}

/** Starts Berth on this computer. A packaged app first unpacks its programs if this version has not done so yet. */
async function startStack(report: StackReport, caFile: string | null): Promise<EmbeddedStack> {
  const { isPackaged } = app
  const places = { isPackaged, appRoot, resources: process.resourcesPath, env, home: app.getPath('home') }
  const programs = findPrograms(places)
  const tell = (line: string) => {
    log.info({ line }, 'stack')
    report.onLog(line)
  }
  const stack = await startEmbeddedStack({
    command: await programs.command(tell),
    options: programs.options,
    // The services run on Node, which reads this variable.
    environment: caFile === null ? {} : { NODE_EXTRA_CA_CERTS: caFile },
    onExit: code => log.error({ code }, 'the embedded stack ended'),
    report: { ...report, onLog: tell },
  })
  if (stack.owned)
    await programs.cleanUp().catch((error: unknown) => log.warn({ err: error }, 'programs of an older version stay'))
  return stack
}

/** Program and arguments that start this app again, or another profile of it. An AppImage is mounted at another place each time. */
function startCommand(of: string | undefined): [string, ...string[]] {
  const profileOption = of === undefined ? [] : [`--profile=${of}`]
  return [env.APPIMAGE ?? process.execPath, ...(process.defaultApp ? [appRoot] : []), ...profileOption]
}

/** Starts a second app for another server; if that server is open already, its window is shown. @param url may be a sign-in link */
async function openServer(url: string): Promise<void> {
  const { host, origin } = new URL(url)
  const name = host.replaceAll(/[^\w.-]/g, '_').slice(0, 100)
  const settings = await openSettingsFile(path.join(profileDir(name), 'desktop.json'))
  await settings.update({ endpoint: { kind: 'remote', url: origin } })
  const [program, ...args] = startCommand(name)
  spawnAnother(program, args, url === origin ? {} : { BERTH_SIGN_IN_LINK: url })
}

/** Starts the app of another profile, which chooses its own server. */
function spawnAnother(program: string, args: readonly string[], more: Record<string, string> = {}): void {
  const { BERTH_ENDPOINT: _, BERTH_SIGN_IN_LINK: __, ...others } = env
  const environment = { ...others, ...more, BERTH_CONFIG_DIR: baseDir }
  const child = spawn(program, args, { detached: true, stdio: 'ignore', env: environment })
  child.on('error', error => log.error({ err: error }, 'another app could not be started'))
  child.unref()
}
