import { useNotifications } from './useNotifications.ts'
import { t as shared } from '../words/en/ui.ts'

/** The clipboard is optional: browsers have none for pages loaded by plain http from another computer. */
type Page = Partial<Pick<Navigator, 'clipboard'>>

/** Copies text to the clipboard, and notifies the user if that fails. @returns whether it succeeded */
export function useCopy(page: Page = navigator) {
  const notifications = useNotifications()
  return async (text: string): Promise<boolean> => {
    if (!page.clipboard) {
      notifications.info(shared('noClipboard'))
      return false
    }
    try {
      await page.clipboard.writeText(text)
      return true
    } catch {
      notifications.info(shared('copyRefused'))
      return false
    }
  }
}
