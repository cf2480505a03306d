import { type DesktopNotice, type DesktopOptions, type HostApi, type StackStart } from '#proxy/contract'
import { type ElectronSlice } from '../electron-slice.ts'
import { type CrashReports } from '../faults/crash-reports.ts'
import { type ExtraAuthorities } from '../settings/extra-authorities.ts'
import { type LoginItem } from '../settings/login-item.ts'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type Warnings } from '../faults/warnings.ts'

export interface DesktopApiDeps {
  readonly electron: Pick<ElectronSlice, 'session' | 'nativeTheme'>
  readonly settings: SettingsFile
  readonly loginItem: LoginItem
  readonly authorities: ExtraAuthorities
  readonly crashReports: Pick<CrashReports, 'start' | 'show'>
  readonly openServer: (url: string) => Promise<void>
  readonly stack: () => StackStart
  readonly showLogs: () => Promise<void>
  readonly onLanguage: () => void
  /** Called when the user wants another try: questions that were cancelled may come again. */
  readonly tryAgain: () => void
  /** Asks whether the new certificate of the present server is trusted. */
  readonly newCertificate: () => Promise<boolean>
  readonly warnings: Pick<Warnings, 'open' | 'close'>
  readonly notify: (notice: DesktopNotice) => void
}

/** The part of HostApi that is about the app itself. */
export function createDesktopApi(deps: DesktopApiDeps): Omit<HostApi['desktop'], 'report'> {
  const { electron, settings, loginItem, authorities, crashReports } = deps

  async function options(): Promise<DesktopOptions> {
    const { keepInBackground, checkSpelling, graphicsAcceleration, linkHosts, caFile } = settings.current
    return {
      openAtLogin: await loginItem.isOn(),
      keepInBackground,
      checkSpelling,
      graphicsAcceleration,
      crashReports: settings.current.crashReports,
      linkHosts,
      caFile,
    }
  }

  return {
    servers: () => Promise.resolve(settings.current.servers),
    async forgetServer(url) {
      const servers = settings.current.servers.filter(other => other !== url)
      const { [url]: _forgotten, ...certificates } = settings.current.certificates
      return (await settings.update({ servers, certificates })).servers
    },
    openServer: deps.openServer,
    stack: () => Promise.resolve(deps.stack()),
    showLogs: deps.showLogs,
    showCrashReports: () => crashReports.show(),
    async chooseCaFile() {
      await authorities.choose()
      return options()
    },
    async language(language) {
      if (settings.current.language === language) return
      await settings.update({ language })
      deps.onLanguage()
    },
    async theme(theme) {
      if (settings.current.theme === theme) return
      electron.nativeTheme.themeSource = theme
      await settings.update({ theme })
    },
    options,
    async saveOptions({ openAtLogin, linkHosts: kept, caFile, ...choices }) {
      await loginItem.set(openAtLogin)
      const { current } = settings
      await settings.update({
        ...choices,
        // Saving can only remove: hosts are added by the answer to the question about a link, a file by the system's file dialog.
        linkHosts: current.linkHosts.filter(host => kept.includes(host)),
        caFile: caFile === current.caFile ? caFile : null,
      })
      electron.session.defaultSession.setSpellCheckerEnabled(choices.checkSpelling)
      if (choices.crashReports) crashReports.start()
      return options()
    },
    tryAgain() {
      deps.tryAgain()
      return Promise.resolve()
    },
    newCertificate: deps.newCertificate,
    warnings: () => Promise.resolve(deps.warnings.open),
    closeWarning(kind) {
      deps.warnings.close(kind)
      return Promise.resolve()
    },
    notify(notice) {
      deps.notify(notice)
      return Promise.resolve()
    },
  }
}
