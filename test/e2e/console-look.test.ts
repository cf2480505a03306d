import { lookAt } from './look-at.ts'
import { ACCOUNT_SCENES } from './scenes-account.ts'
import { APP_SCENES } from './scenes-apps.ts'
import { LAUNCH_SCENES } from './scenes-launch.ts'
import { PREFERENCE_SCENES } from './scenes-preferences.ts'
import { SESSION_SCENES } from './scenes-sessions.ts'
import { SHARING_SCENES } from './scenes-sharing.ts'
import { SIGN_IN_SCENES } from './scenes-sign-in.ts'

/** Folders, files and administration: `console-look-data.test.ts`, so that two workers look. */
lookAt([
  ...SIGN_IN_SCENES,
  ...SHARING_SCENES,
  ...SESSION_SCENES,
  ...APP_SCENES,
  ...LAUNCH_SCENES,
  ...ACCOUNT_SCENES,
  ...PREFERENCE_SCENES,
])
