# ruff: noqa: E501
"""Every sentence that the grader says to a person, by code, in English and Chinese.

A template's fields are filled by `text`; what came from a candidate is cleaned before it gets here.
"""

from collections.abc import Mapping

from grader.contract import Text

_LIMIT = 8192

_TEMPLATES: Mapping[str, tuple[str, str]] = {
    # The whole grading.
    "accepted": ("All tests passed.", "所有测试通过。"),
    "accepted_timed": (
        "All tests passed; the timed cases were measured.",
        "所有测试通过，计时用例已完成测量。",
    ),
    "public_failed": (
        "{failed} of {total} public tests did not pass; the first is {case}: {reason}",
        "{total} 个公开测试中有 {failed} 个未通过，第一个是 {case}：{reason}",
    ),
    "timed_failed": ("The timed case {case} did not pass: {reason}", "计时用例 {case} 未通过：{reason}"),
    "hidden_failed": (
        (
            "The public tests passed, the hidden ones did not. They use other shapes and values than the public "
            "tests: try sizes of 1, primes, sizes next to a multiple of your tile, and strided inputs."
        ),
        (
            "公开测试已通过，但隐藏测试未全部通过。隐藏测试使用不同的形状和数值：请试一试大小为 1、质数、"
            "紧邻分块倍数的尺寸，以及非连续的输入。"
        ),
    ),
    "unstable": (
        (
            "The results are right, but the times of {case} scattered too much to be ranked. This is not your "
            "fault. A course's server repeats such a grading by itself; on your own machine, close other "
            "programs and grade again."
        ),
        (
            "结果正确，但 {case} 的计时波动过大，无法排名。这不是你的问题。课程服务器会自动重复这样的评测；"
            "在你自己的机器上，请关闭其他程序后重新评测。"
        ),
    ),
    "assignment_fault": (
        (
            "The assignment's own code failed ({what}). This is not your fault and costs no attempt; the staff "
            "see the cause."
        ),
        "作业自身的代码出错（{what}）。这不是你的问题，不消耗提交次数；课程人员可以看到原因。",
    ),
    "grader_fault": (
        "The grader failed ({what}). This is not your fault and costs no attempt; the staff see the cause.",
        "评测系统出错（{what}）。这不是你的问题，不消耗提交次数；课程人员可以看到原因。",
    ),
    "unsupported_kind": (
        "This grader does not run parts of the kind {kind} yet.",
        "本评测系统尚不支持 {kind} 类型的部分。",
    ),
    "unsupported_mode": (
        "The mode {mode} is not offered yet; use `test` or `grade`.",
        "尚不提供模式 {mode}；请使用 `test` 或 `grade`。",
    ),
    "dialect_needs_device": (
        "{name} needs a CUDA device, and this target has none.",
        "{name} 需要 CUDA 设备，而此目标没有。",
    ),
    "dialect_missing": (
        "{name} is not installed on this machine: `pip install {package}`, in the grader's environment.",
        "本机没有安装 {name}：请在评测环境中运行 `pip install {package}`。",
    ),
    # Tools that look into calls.
    "profiled": (
        "What the calls ran is told below; nothing was graded.",
        "各次调用运行的内容见下；未作评分。",
    ),
    "profile_cpu": (
        "Operators of {calls} calls, by the time that each took itself, without the operators that it called.",
        "{calls} 次调用中的算子，按各自耗时（不含其调用的算子）排列。",
    ),
    "profile_counted": (
        "Kernels of {calls} calls by torch's profiler; beside them what ncu counted in another call.",
        "由 torch 性能分析器得到的 {calls} 次调用的内核；旁列 ncu 在另一次调用中的计数。",
    ),
    "profile_not_counted": (
        "Kernels of {calls} calls by torch's profiler. ncu is not here, or may not count in a sandbox.",
        "由 torch 性能分析器得到的 {calls} 次调用的内核。此处没有 ncu，或沙箱内不允许其计数。",
    ),
    "profile_native": (
        "C++ on a CPU is not profiled here: run `perf record` on your own machine.",
        "此处不对 CPU 上的 C++ 做性能分析：请在自己的机器上运行 `perf record`。",
    ),
    "profile_form": (
        "The profiler's answer was not what the harness sends.",
        "性能分析器的回答不符合评测程序的格式。",
    ),
    "inspect_nothing": (
        "The mode {mode} looks into calls of functions; there is none that can run here.",
        "模式 {mode} 针对函数调用；此处没有可以运行的函数用例。",
    ),
    "memcheck_no_device": (
        "The mode memcheck needs a CUDA device; for C++ on a CPU, compile with -fsanitize=address yourself.",
        "模式 memcheck 需要 CUDA 设备；CPU 上的 C++ 请自行用 -fsanitize=address 编译。",
    ),
    "memcheck_absent": (
        "compute-sanitizer is not installed on this machine: it comes with the CUDA toolkit.",
        "本机没有安装 compute-sanitizer：它随 CUDA 工具包提供。",
    ),
    "memcheck_found": (
        "compute-sanitizer found {errors} errors.",
        "compute-sanitizer 发现 {errors} 个错误。",
    ),
    "memcheck_clean": ("compute-sanitizer found no error.", "compute-sanitizer 未发现错误。"),
    "no_target": (
        "This assignment is not graded on {hardware}; it is on: {known}.",
        "这个作业不在 {hardware} 上评测；可用的硬件：{known}。",
    ),
    # The files.
    "no_files": ("No file was handed in.", "没有提交任何文件。"),
    "too_many_files": (
        "{count} files were handed in; at most {limit} are taken.",
        "提交了 {count} 个文件；最多接受 {limit} 个。",
    ),
    "too_large": (
        (
            "The files have {size} bytes together; at most {limit} are taken. Hand in source code only, no data "
            "and no build products."
        ),
        "文件共 {size} 字节；最多接受 {limit} 字节。请只提交源代码，不要包含数据或构建产物。",
    ),
    "bad_name": (
        (
            "{name}: not a usable file name. Use letters, digits, `_`, `-` and `.`, at most 128 characters, "
            "without folders and not starting with a dot."
        ),
        "{name}：文件名不可用。请使用字母、数字、`_`、`-` 和 `.`，最多 128 个字符，不带文件夹，不以点开头。",
    ),
    "no_name": (
        "A file has no name. Give it one, for instance `solution.py`.",
        "有一个文件没有文件名。请为其命名，例如 `solution.py`。",
    ),
    "shadowing_name": (
        (
            "{name}: a file of this name would hide the module `{module}` from every `import {module}`. "
            "Give it another name."
        ),
        "{name}：这个文件名会使 `import {module}` 找不到真正的模块 `{module}`。请换一个名字。",
    ),
    "empty_file": (
        "{name} is empty. Write the function `{entry}` into it.",
        "{name} 是空文件。请在其中编写函数 `{entry}`。",
    ),
    "not_text": (
        "{name} is not UTF-8 text (byte {position}). Save it as UTF-8 without a byte-order mark.",
        "{name} 不是 UTF-8 文本（第 {position} 字节）。请以不带 BOM 的 UTF-8 编码保存。",
    ),
    "nul_byte": (
        "{name} holds a NUL byte (byte {position}): it is no source code.",
        "{name} 含有 NUL 字节（第 {position} 字节）：它不是源代码。",
    ),
    "repeated_name": (
        "Two files are called {name}: rename one.",
        "有两个文件同名（{name}）：请重命名其中一个。",
    ),
    "same_letters": (
        (
            "{name} and {other} differ in upper and lower case only: on many systems one would replace the "
            "other. Rename one."
        ),
        "{name} 与 {other} 仅大小写不同：在许多系统上会相互覆盖。请重命名其中一个。",
    ),
    "reserved_name": (
        "{name}: some systems keep this name for a device. Give it another name.",
        "{name}：某些系统将此名称保留给设备。请换一个名字。",
    ),
    "archive_damaged": (
        (
            "{name} cannot be unpacked: it is damaged, not the archive that its name says, or packed in a way "
            "that is not read here. Pack the files again as a plain zip, tar or tar.gz."
        ),
        "无法解开 {name}：文件已损坏、与其名称不符，或打包方式不受支持。请重新打包为普通的 zip、tar 或 tar.gz。",
    ),
    "archive_special": (
        "{name} holds {member}, which is {what}. Only plain files are taken.",
        "{name} 中的 {member} 是{what}。只接受普通文件。",
    ),
    "archive_folders": (
        (
            "{name} holds {member}: the files of an archive must lie side by side, at most in one folder. Pack "
            "them without further folders."
        ),
        "{name} 中有 {member}：压缩包中的文件须并列存放，最多位于一个文件夹内。请去掉其他文件夹后重新打包。",
    ),
    "archive_repeats": (
        "{name} holds {member} twice. Pack the files again.",
        "{name} 中 {member} 出现了两次。请重新打包。",
    ),
    "archive_entries": (
        "{name} has more than {limit} entries. Pack your source files only.",
        "{name} 的条目超过 {limit} 个。请只打包源文件。",
    ),
    "archive_too_large": (
        "{name} has more than {limit} bytes. Pack source code only, no data and no build products.",
        "{name} 超过 {limit} 字节。请只打包源代码，不要包含数据或构建产物。",
    ),
    "archive_ratio": (
        "{name} unpacks to more than {limit} times its size, which source code does not. Hand in the files themselves.",
        "{name} 解压后超过其大小的 {limit} 倍，源代码不会如此。请直接提交文件。",
    ),
    "archive_encrypted": (
        "{name} is encrypted. Pack the files without a password.",
        "{name} 已加密。请不设密码重新打包。",
    ),
    "archive_empty": ("{name} holds no file.", "{name} 中没有文件。"),
    "control_character": (
        (
            "{name} holds the character {character} (at {position}), which terminals and editors obey rather than "
            "show. In a string, write it as an escape."
        ),
        "{name} 含有字符 {character}（位置 {position}），终端和编辑器会执行而不是显示它。在字符串中请写成转义形式。",
    ),
    "declared_encoding": (
        "{name} declares the encoding {encoding}. Save it as UTF-8, and leave out the declaration.",
        "{name} 声明了编码 {encoding}。请以 UTF-8 保存并去掉该声明。",
    ),
    "no_entry": (
        (
            "None of the files is the entry. Name it `solution.py`, `solution.cpp` or `solution.cu`, or hand in "
            "that one file alone."
        ),
        "找不到入口文件。请将其命名为 `solution.py`、`solution.cpp` 或 `solution.cu`，或只提交这一个文件。",
    ),
    "several_entries": (
        "Several files could be the entry: {names}. Keep one, or choose with --language.",
        "有多个文件可以作为入口：{names}。请只保留一个，或用 --language 指定。",
    ),
    "no_suffix": (
        "{name}: its name does not say what it is. The entry ends in `.py`, `.cpp` or `.cu`.",
        "{name}：文件名没有扩展名，无法判断其类型。入口文件以 `.py`、`.cpp` 或 `.cu` 结尾。",
    ),
    "wrong_suffix": (
        "{name}: files that end in `{suffix}` cannot be graded. The entry ends in `.py`, `.cpp` or `.cu`.",
        "{name}：以 `{suffix}` 结尾的文件无法评测。入口文件以 `.py`、`.cpp` 或 `.cu` 结尾。",
    ),
    "wrong_language": (
        "{name} does not look like {language}; such an entry ends in `{suffix}`.",
        "{name} 看起来不是 {language}；这类入口文件以 `{suffix}` 结尾。",
    ),
    "language_not_taken": (
        "This assignment does not take {language} here; it takes: {known}.",
        "这个作业在此处不接受 {language}；可用的语言：{known}。",
    ),
    # Building and loading.
    "compile_error": (
        "The compiler refused the code (exit code {status}). Its whole output is below.",
        "编译器拒绝了代码（退出码 {status}）。完整输出见下方。",
    ),
    "compiler_killed": (
        "The compiler was ended by {signal}. Deep templates or macros that grow without end do that.",
        "编译器被 {signal} 终止。层次过深的模板或无限展开的宏会造成这种情况。",
    ),
    "compile_time": (
        "Building took more than {seconds} s. Look for templates or macros that never stop expanding.",
        "构建超过了 {seconds} 秒。请检查是否有无法停止展开的模板或宏。",
    ),
    "no_compiler": (
        (
            "This machine has no compiler {detail}: install it and grade again (`solmark doctor` tells what else "
            "is missing). This is not your fault and costs no attempt."
        ),
        (
            "这台机器没有编译器 {detail}：请安装后重新评测（`solmark doctor` 会列出还缺少什么）。"
            "这不是你的问题，不消耗提交次数。"
        ),
    ),
    "artifact_size": (
        "The compiled program is larger than {limit} bytes. Do not put large tables into the source.",
        "编译后的程序超过 {limit} 字节。请不要在源代码中放入大型数据表。",
    ),
    "syntax": (
        "The file is not valid Python: {detail}",
        "该文件不是合法的 Python 代码：{detail}",
    ),
    "import": (
        (
            "An import failed: {detail}\nThe sandbox has Python's standard library, torch, numpy and triton, the "
            "files you hand in, and no network."
        ),
        "导入失败：{detail}\n沙箱中有 Python 标准库、torch、numpy、triton 以及你提交的文件，没有网络。",
    ),
    "load_exception": (
        "Loading the file raised an exception: {detail}",
        "加载文件时抛出了异常：{detail}",
    ),
    "load_library": (
        (
            "The compiled program could not be loaded: {detail}\nA function that is declared but not defined "
            "does that."
        ),
        "无法加载编译后的程序：{detail}\n声明了但没有定义的函数会造成这种情况。",
    ),
    "missing_entry": (
        "The entry file defines no function `{entry}`. It is called as {signature}.",
        "入口文件没有定义函数 `{entry}`。它的调用方式是 {signature}。",
    ),
    "missing_symbol": (
        (
            'The program has no C function `{entry}`. Define it as extern "C" int {entry}(const solmark_tensor *, '
            "int, const solmark_scalar *, int, void *), see solmark.h."
        ),
        (
            '程序中没有 C 函数 `{entry}`。请定义 extern "C" int {entry}(const solmark_tensor *, int, '
            "const solmark_scalar *, int, void *)，参见 solmark.h。"
        ),
    ),
    "not_callable": (
        "`{entry}` is not a function. It is called as {signature}.",
        "`{entry}` 不是函数。它的调用方式是 {signature}。",
    ),
    # Running.
    "signature": (
        "`{entry}` does not take these arguments: {detail}\nIt is called as {signature}.",
        "`{entry}` 不接受这些参数：{detail}\n它的调用方式是 {signature}。",
    ),
    "exception": ("The code raised an exception: {detail}", "代码抛出了异常：{detail}"),
    "output_shapes": (
        "What you write into an output must have its shape; here: {outputs}.",
        "写入输出的结果必须与该输出的形状相同；此处为：{outputs}。",
    ),
    "returned": (
        (
            "`{entry}` returned a value ({detail}) instead of writing its outputs. Write the result into the "
            "output tensors, for instance `out.copy_(result)` or `torch.add(x, y, out=out)`, and return nothing."
        ),
        (
            "`{entry}` 返回了一个值（{detail}），而不是写入输出。请把结果写进输出张量，例如 "
            "`out.copy_(result)` 或 `torch.add(x, y, out=out)`，并且不要返回任何值。"
        ),
    ),
    "status": (
        "`{entry}` returned {number}; 0 means success.",
        "`{entry}` 返回了 {number}；返回 0 才表示成功。",
    ),
    "exit": (
        "The code ended the program (exit code {code}) before it had answered. Do not call exit().",
        "代码在作答之前结束了程序（退出码 {code}）。请不要调用 exit()。",
    ),
    "signal": (
        "The program crashed: {signal} ({hint}).",
        "程序崩溃：{signal}（{hint_zh}）。",
    ),
    "closed": (
        "The program closed the channel to the judge. Leave file descriptors that you did not open alone.",
        "程序关闭了与评测进程之间的通道。请不要动不是你打开的文件描述符。",
    ),
    "violation": (
        (
            "The program did something that the sandbox forbids (system call refused): for instance tracing "
            "another process, or mounting."
        ),
        "程序做了沙箱禁止的事情（系统调用被拒绝），例如跟踪其他进程或挂载文件系统。",
    ),
    "protocol": (
        (
            "The program wrote to the judge's channel by itself ({detail}). Leave file descriptors that you did "
            "not open alone."
        ),
        "程序擅自向评测通道写入了数据（{detail}）。请不要动不是你打开的文件描述符。",
    ),
    "wall": (
        (
            "{what} did not end within {limit} s. Of {waited} s, the program computed for {cpu} s of processor "
            "time: {where}."
        ),
        "{what_zh}没有在 {limit} 秒内结束。在 {waited} 秒中，程序使用了 {cpu} 秒的处理器时间：{where_zh}。",
    ),
    "cpu": (
        "The program used more than {limit} s of processor time.",
        "程序使用的处理器时间超过了 {limit} 秒。",
    ),
    "memory": (
        "The program needed more memory than the limit of {limit} MiB.",
        "程序需要的内存超过了 {limit} MiB 的限制。",
    ),
    "device_memory": (
        "The device had no memory left for what the code asked: {detail}",
        "设备内存不足，无法满足代码的请求：{detail}",
    ),
    "cuda": (
        "CUDA reported an error: {detail}. Often an index is out of range: try compute-sanitizer.",
        "CUDA 报告了错误：{detail}。常见原因是下标越界：请用 compute-sanitizer 在小规模用例上检查。",
    ),
    "overlap": (
        "The calls of a round overlapped: {ring} µs each in the ring, {single} µs for a call alone.",
        "一轮中的调用相互重叠：连续调用时每次 {ring} 微秒，单独一次调用需 {single} 微秒。",
    ),
    "yardstick": (
        "The judge's own copy and product ran below this device's calibrated rates.",
        "评测器自己的复制与矩阵乘低于此设备的校准值。",
    ),
    "eager": (
        "The calls could not be captured in a CUDA graph ({detail}): each was launched by itself, which counts.",
        "无法把一轮中的调用捕获为 CUDA graph（{detail}），因此逐次启动，启动开销计入时间。",
    ),
    "output": (
        "The program printed more than {limit} bytes. Remove the prints from loops.",
        "程序输出超过了 {limit} 字节。请去掉循环中的打印语句。",
    ),
    # Dialogues.
    "not_handed_in": (
        "Not run: {file} was not handed in. This part of the assignment is written in that file.",
        "未运行：没有提交 {file}。作业的这一部分写在该文件中。",
    ),
    "missing_method": (
        "There is no function `{detail}`, which this case calls.",
        "没有此用例所调用的函数 `{detail}`。",
    ),
    "method_signature": (
        "The function does not take these arguments: {detail}",
        "该函数不接受这些参数：{detail}",
    ),
    "answer_form": (
        (
            "The answer is of no form that can be sent: {detail}. Numbers, strings, booleans, None, lists, tuples "
            "and dicts with string keys are taken."
        ),
        "回答的形式无法传送：{detail}。可以使用数字、字符串、布尔值、None、列表、元组以及键为字符串的字典。",
    ),
    "answer_size": (
        "The answer has {number} bytes as JSON; at most {limit} are read.",
        "回答的 JSON 有 {number} 字节；最多读取 {limit} 字节。",
    ),
    "messages": (
        "The dialogue was not over after {limit} messages.",
        "对话在 {limit} 条消息之后仍未结束。",
    ),
    "blob_size": (
        "The region {name} is said to hold {count} elements; 0 to {limit} are possible.",
        "区域 {name} 声称含有 {count} 个元素；允许的范围是 0 到 {limit}。",
    ),
    "blob_bool": (
        "The region {name} holds bytes that are neither true nor false.",
        "区域 {name} 含有既非真也非假的字节。",
    ),
    "tensor_nothing": (
        "Nothing was written into the region {region}.",
        "区域 {region} 中没有写入任何内容。",
    ),
    "tensor_file": (
        "The region {region} holds no tensors that can be read ({detail}). Use `regions.write_tensors`.",
        "区域 {region} 中没有可读取的张量（{detail}）。请使用 `regions.write_tensors`。",
    ),
    "tensor_missing": (
        "The region {region} lacks the tensor `{name}`; it holds exactly: {known}.",
        "区域 {region} 缺少张量 `{name}`；它应恰好包含：{known}。",
    ),
    "tensor_unknown": (
        "The region {region} has a tensor `{name}` that is not declared; it holds exactly: {known}.",
        "区域 {region} 中有未声明的张量 `{name}`；它应恰好包含：{known}。",
    ),
    "tensor_shape": (
        "{region}: the tensor `{name}` is {found}; {wanted} is right.",
        "{region}：张量 `{name}` 是 {found}；应为 {wanted}。",
    ),
    "tensor_not_finite": (
        "{region}: {count} of {elements} elements of `{name}` are NaN or infinite.",
        "{region}：`{name}` 的 {elements} 个元素中有 {count} 个是 NaN 或无穷大。",
    ),
    # Collectives.
    "aborted": ("The call was ended because another rank failed.", "由于另一个 rank 失败，本次调用已终止。"),
    "rank_failed": ("Rank {rank} failed: {reason}", "rank {rank} 失败：{reason}"),
    "rank_died": (
        "Rank {rank} failed, last seen at {last}: {reason}",
        "rank {rank} 失败（最后位置 {last}）：{reason}",
    ),
    "rank_wrong": ("On rank {rank} of {ranks}: {reason}", "在 {ranks} 个 rank 中的 rank {rank} 上：{reason}"),
    "comm_self": (
        "It {doing} itself (`{named}`), at {where}. What a rank has already need not travel.",
        "它在 {where} 处向自己（`{named}`）{doing_zh}。rank 已有的数据无需传输。",
    ),
    "comm_nobody": (
        "It {doing} rank {named}, at {where}: there is no such rank in its group. They are 0 to {last}.",
        "它在 {where} 处与 rank {named} {doing_zh}：组内没有这个 rank。编号为 0 到 {last}。",
    ),
    "comm_message": (
        "It sends a message of {bytes} bytes at {where}; one message holds at most {limit}.",
        "它在 {where} 处发送了 {bytes} 字节的消息；一条消息最多 {limit} 字节。",
    ),
    "comm_too_much": (
        "It has sent {bytes} bytes in all, at {where}; this call allows a rank {limit}. Send each value once.",
        "到 {where} 处它共发送了 {bytes} 字节；本次调用每个 rank 最多 {limit} 字节。每个值只需发送一次。",
    ),
    "comm_unreceived": (
        "Rank {rank} never received {count} messages ({bytes} bytes) that rank {source} sent to it. They would be taken for messages of the next call.",
        "rank {rank} 从未接收 rank {source} 发给它的 {count} 条消息（{bytes} 字节）。下一次调用会误收这些消息。",
    ),
    "comm_left": (
        "It has returned, but rank {other} still waits for a message from it ({where}).",
        "它已返回，但 rank {other} 仍在等待它的消息（{where}）。",
    ),
    "comm_deadlock": (
        "Deadlock: every rank that has not returned waits for a message that nobody has sent: {who}.",
        "死锁：所有未返回的 rank 都在等待无人发送的消息：{who}。",
    ),
    "comm_late": (
        "It did not return within {limit} s (processor time: {cpu} s). It was at: {at}.",
        "它没有在 {limit} 秒内返回（处理器时间 {cpu} 秒）。当时位于：{at}。",
    ),
    "ranks_left": (
        "Returned already: rank {left}. Still waiting for a message after {limit} s: {who}.",
        "已返回：rank {left}。{limit} 秒后仍在等待消息：{who}。",
    ),
    "ranks_stuck": (
        "Deadlock: after {limit} s every rank waits in a send or a receive that no other rank meets: {who}.",
        "死锁：{limit} 秒后所有 rank 都停在没有对方响应的发送或接收上：{who}。",
    ),
    "ranks_share_cores": (
        "Not ranked: {ranks} ranks share {cores} cores of this machine, and take turns.",
        "不参与排名：{ranks} 个 rank 共用这台机器的 {cores} 个核心，轮流运行。",
    ),
    "episode_failed": ("The answers are wrong.", "回答有误。"),
    "beyond_bound": (
        (
            "This value lies beyond the bound that was proved for the case, so the bound or the pricing has a "
            "hole. The staff will look at it."
        ),
        "该值超出了此用例已证明的界，说明界或计价存在漏洞。课程人员会查看。",
    ),
    # Wrong answers.
    "wrong": (
        "{output} is wrong in {wrong} of {elements} elements.",
        "{output} 的 {elements} 个元素中有 {wrong} 个错误。",
    ),
    "imprecise": (
        (
            "{output} is not precise enough: worst row error {worst} (limit {worst_limit}), mean {mean} (limit "
            "{mean_limit})."
        ),
        "{output} 精度不够：最差行误差 {worst}（限制 {worst_limit}），平均 {mean}（限制 {mean_limit}）。",
    ),
    "never_written": (
        (
            "{output} was never written. Write the result into the tensor you are given; assigning a new tensor "
            "to the name, or resizing it, does not reach the judge."
        ),
        "{output} 从未被写入。请把结果写进给你的张量；给变量名赋一个新张量或改变其大小，评测进程都看不到。",
    ),
    "partly_written": (
        "{unwritten} of {elements} elements of {output} were never written.",
        "{output} 的 {elements} 个元素中有 {unwritten} 个从未被写入。",
    ),
    "outside": (
        "Memory next to {output} was overwritten: an index ran past the end of a tensor.",
        "{output} 旁边的内存被改写：有下标越过了张量的末尾。",
    ),
    "input_modified": (
        "The input {name} was modified. Inputs are read only; use memory of your own.",
        "输入 {name} 被修改。输入是只读的，请使用自己的内存。",
    ),
    "not_finite": (
        "{output} holds NaN or infinity at {index} where a finite number is expected.",
        "{output} 在 {index} 处为 NaN 或无穷大，而此处应为有限的数。",
    ),
    "beyond_count": (
        "{output} was written beyond the number of rows that it is said to have.",
        "{output} 在声明的有效行数之外被写入。",
    ),
    # Timing.
    "wrong_timed": (
        (
            "{output} is wrong in a timed call, at [{index}]: expected {expected}, found {found}. Every call of a "
            "round is checked, each on values of its own."
        ),
        (
            "计时调用中 {output} 在 [{index}] 处有误：应为 {expected}，实为 {found}。每一轮中的每次调用都使用各自的"
            "数据，并且都会被检查。"
        ),
    ),
    "slow_warm_up": (
        (
            "The warm-up call took more than {limit} s. Compilation and autotuning belong into it, but must end in "
            "that time."
        ),
        "预热调用超过了 {limit} 秒。编译和自动调优应在其中进行，但必须在此时间内结束。",
    ),
    "waited_for": (
        (
            "The rounds of this case together kept the judge waiting for longer than a case may take, though each "
            "was within its own limit. Look for what makes some calls far slower than others: sleeping, locks, "
            "work that is done anew from time to time."
        ),
        (
            "这个用例的各轮虽然都没有超过单轮限制，但总共让评测程序等待的时间超过了一个用例允许的时间。"
            "请检查是什么使某些调用远慢于其他调用：休眠、锁，或者不时重做的工作。"
        ),
    ),
    "slow_round": (
        (
            "A round of {calls} call(s) took more than {limit} s; the bound of one call is {bound}. Look for loops "
            "over single elements in Python, for work done twice, and for algorithms of too high an order."
        ),
        (
            "一轮 {calls} 次调用超过了 {limit} 秒；一次调用的下界是 {bound}。请检查 Python 中逐元素的循环、"
            "重复的计算，以及复杂度过高的算法。"
        ),
    ),
    "disturbed": (
        (
            "The machine was busy with something else: around {disturbed} of {rounds} rounds its memory took more "
            "than {slower} times as long as when it is quiet, and fewer than {least} rounds are left. This says "
            "nothing about your code: grade again. If it stays so, run `solmark calibrate`."
        ),
        (
            "机器正忙于其他工作：{rounds} 轮中有 {disturbed} 轮前后，内存速度比空闲时慢 {slower} 倍以上，剩下的不足 {least} 轮。"
            "这与你的代码无关：请重新评测。如果一直如此，请运行 `solmark calibrate`。"
        ),
    ),
    "scattered": (
        (
            "The times scatter: half the width of their interval is {width} after {rounds} rounds, where {target} "
            "is asked for. The machine was disturbed, or the code's own time varies much from call to call."
        ),
        (
            "时间波动过大：{rounds} 轮后区间半宽仍为 {width}，要求为 {target}。"
            "可能是机器受到干扰，也可能是代码每次调用的时间差异很大。"
        ),
    ),
    "faster_than_light": (
        (
            "This time is below what the hardware can physically do, so some of the work was not done within the "
            "calls. The staff will look at it."
        ),
        "这个时间低于硬件的物理极限，说明部分工作没有在调用之内完成。课程人员会查看。",
    ),
    "stale_ceiling": (
        (
            "The times lay below what this machine could do when it was calibrated, and it can do better now: it "
            "was busy then. Its calibration has been raised; grade once more. This is not your fault."
        ),
        "时间低于校准时测得的机器极限，而机器现在确实更快：校准时机器正忙。校准值已更新，请再评测一次。这不是你的问题。",
    ),
    "outside_clock": (
        (
            "Code of the submission ran, or tried to run, while the clock stood still. All work of a call must "
            "begin after the call and be over when it returns. The staff will look at it."
        ),
        (
            "在计时停止期间，提交的代码仍在（或试图）运行。一次调用的全部工作必须在调用开始之后进行，"
            "并在返回之前完成。课程人员会查看。"
        ),
    ),
    "answered_early": (
        (
            "Something was sent to the judge before the round had begun. Leave file descriptors that you did not "
            "open alone. The staff will look at it."
        ),
        "本轮开始之前就有数据发往评测进程。请不要动不是你打开的文件描述符。课程人员会查看。",
    ),
    "one_core": (
        "Not ranked: the judge and the program share the only core of this machine.",
        "不参与排名：评测进程与程序共用这台机器唯一的核心。",
    ),
    # Not run, not timed, not ranked.
    "not_run_restarts": (
        "Not run: the program had to be restarted {count} times before.",
        "未运行：此前程序已被重新启动 {count} 次。",
    ),
    "triton_bf16": (
        "Not run: Triton's interpreter computes bfloat16 wrongly, so this case needs a GPU.",
        "未运行：Triton 解释器的 bfloat16 计算有误，此用例需要 GPU。",
    ),
    "triton_not_timed": (
        "Not timed here: without a GPU, Triton runs in its interpreter, for correctness only.",
        "此处不计时：没有 GPU 时 Triton 在解释器中运行，只检查正确性。",
    ),
    "not_calibrated": (
        "This machine has not been calibrated: run `solmark calibrate`, then grade again.",
        "这台机器尚未校准：请先运行 `solmark calibrate`，再重新评测。",
    ),
    "no_freezer": (
        (
            "Times are shown but not ranked: this machine cannot freeze a program between rounds (no cgroup "
            "freezer; see `solmark doctor`)."
        ),
        (
            "计时结果仅供参考，不参与排名：这台机器无法在轮次之间冻结程序（没有 cgroup freezer，见 "
            "`solmark doctor`）。"
        ),
    ),
    "no_isolation": (
        "Not ranked: the sandbox here does not isolate the program ({sandbox}).",
        "不参与排名：这里的沙箱没有隔离程序（{sandbox}）。",
    ),
    "own_user": (
        "Not ranked: the program ran under your own user (start as root, or on a node, to be ranked).",
        "不参与排名：程序以你自己的用户身份运行（以 root 或在评测节点上运行才能排名）。",
    ),
    "staff_look": (
        (
            "The staff look at this result before it is ranked, as at every one that is faster than usual. Points "
            "count already, and you need not do anything."
        ),
        "该结果排名前会先由课程人员查看，凡是快于通常水平的结果都如此。得分已经计入，你无需做任何事。",
    ),
    "not_for_language": (
        "Not run: this case is not meant for {language}.",
        "未运行：此用例不适用于 {language}。",
    ),
    "not_timed": ("This case was not timed.", "此用例未计时。"),
    "not_accepted": (
        "There is no fraction: the submission was not accepted.",
        "没有光速占比：提交未通过。",
    ),
    "no_timed_cases": ("There are no timed cases.", "没有计时用例。"),
}


def text(code: str, /, **fields: object) -> Text:
    """The sentence of that code with its fields filled in; `<name>_zh` fields stand only in the Chinese."""
    en, zh = _TEMPLATES[code]
    return Text(code=code, en=en.format(**fields)[:_LIMIT], zh=zh.format(**fields)[:_LIMIT])


def codes() -> frozenset[str]:
    """All codes."""
    return frozenset(_TEMPLATES)
