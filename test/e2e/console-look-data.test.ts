import { lookAt } from './look-at.ts'
import { ADMIN_SCENES } from './scenes-admin.ts'
import { FILE_SCENES } from './scenes-files.ts'
import { FOLDER_SCENES } from './scenes-folders.ts'

lookAt([...FILE_SCENES, ...FOLDER_SCENES, ...ADMIN_SCENES])
