import en from '../../words/en/session-image.ts'
import { defineWords } from '../../words/i18n.ts'

/** Texts of images of sessions; loaded with their section. */
export const t = defineWords('session-image', en)
