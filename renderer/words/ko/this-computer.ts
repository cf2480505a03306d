import type en from '../en/this-computer.ts'
import { type Translation } from '../message-types.ts'

/** 이 브라우저가 Berth의 컴퓨터에서 실행되는지 확인하는 창 */
export default {
  title: '이 브라우저가 Berth가 설치된 컴퓨터에서 실행되나요?',
  about:
    '앱은 Berth가 설치된 컴퓨터의 포트에서 열리므로, 이 브라우저가 그 컴퓨터에서 실행되는지 확인해야 합니다. 이 브라우저를 시작한 사용자로 이 컴퓨터의 터미널에서 다음 명령을 실행하세요.',
  command: '명령',
  fromClone: 'Berth를 복제한 폴더에서는 <code>npx {command}</code> 명령입니다.',
  waiting: '명령을 기다리는 중입니다. 실행하면 자동으로 계속됩니다.',
  caution: '다른 사람이 보낸 코드로는 절대 이 명령을 실행하지 마세요.',
  noCommand:
    '여기서는 명령을 사용할 수 없습니다. Berth를 실행하는 사람에게 링크를 요청하세요. <code>berth up</code> 명령이 출력하는 두 번째 링크를 이 브라우저에서 열면 됩니다.',
  elsewhere: '다른 컴퓨터라면 그 컴퓨터에서 데스크톱 앱이나 <code>berth</code> 명령을 사용하세요.',
  proved: '이제 이 브라우저에서 앱을 열 수 있습니다. 앱을 다시 여세요.',
} satisfies Translation<typeof en>
