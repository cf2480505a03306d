import { rename } from 'node:fs/promises'
import { isAppError } from '#manager/contract'
import { type Ask } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'
import { openSettingsFile, type SettingsFile } from './settings-file.ts'

/**
 * Opens the settings. If the file cannot be read, asks whether to start without it; the file is then kept beside the new one. @returns
 * undefined if the user chooses to quit
 */
export async function openSettings(ask: Ask, file: string, language: Language): Promise<SettingsFile | undefined> {
  try {
    return await openSettingsFile(file)
  } catch (error) {
    const why = isAppError(error) ? String(error.detail['why']) : String(error)
    const words = wordsOf(language)
    const { response } = await ask({
      type: 'error',
      title: words.settingsTitle,
      message: words.settingsUnreadable,
      detail: `${why}\n\n${words.settingsKeptAs(`${file}.unreadable`)}`,
      buttons: [words.startWithout, words.quit],
      defaultId: 0,
      cancelId: 1,
      noLink: true,
    })
    if (response !== 0) return undefined
    await rename(file, `${file}.unreadable`)
    return await openSettingsFile(file)
  }
}
